// The fixed text of a depthwise kernel, in the order in which it is put together.
#pragma once

namespace warpwright::depthwise {

extern const char* const kHelpersText;         // transposition, vector loads from shared memory
extern const char* const kPlacesText;          // who this thread is
extern const char* const kCopyTileText;        // the CTA's input to shared memory
extern const char* const kGlobalSourceText;    // load_row from global memory
extern const char* const kSharedSourceText;    // load_row from shared memory
extern const char* const kMaskedTapsText;      // multiply_row: one dp4a a channel and tap
extern const char* const kTransposedTapsText;  // multiply_row: quads of pixels
extern const char* const kRowLoopText;         // a format string for the unroll factor
extern const char* const kEpilogueText;        // whole vectors of output channels
extern const char* const kPartEpilogueText;    // one output channel of each input channel
extern const char* const kOtherPadsText;

}  // namespace warpwright::depthwise
