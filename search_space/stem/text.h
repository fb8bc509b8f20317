// The fixed text of a stem kernel, in the order in which it is put together.
#pragma once

namespace warpwright::stem {

extern const char* const kPlacesText;         // who this thread is
extern const char* const kCopyTileText;       // the CTA's input to shared memory
extern const char* const kCopyWeightsText;    // its weights to shared memory
extern const char* const kSharedWeightsText;  // load_weights(to, tap)
extern const char* const kDirectWeightsText;
extern const char* const kRowLoopText;  // a format string for the unroll factor
extern const char* const kEpilogueText;

}  // namespace warpwright::stem
