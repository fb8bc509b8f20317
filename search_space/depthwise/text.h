// The fixed text of a depthwise kernel, in the order in which it is put together.
#pragma once

namespace warpwright::depthwise {

extern const char* const kMaskedFormsText;      // Row and WeightRow: one dp4a a channel and tap
extern const char* const kTransposedFormsText;  // the same for quads of pixels
extern const char* const kHelpersText;          // vector loads, which rows and columns are used, Sums
extern const char* const kPlacesText;           // who this thread is
extern const char* const kOtherPadsText;        // pad lanes that no output's store covers
extern const char* const kCopyTileText;         // the CTA's input to shared memory,
extern const char* const kLoadTileText;         //   going on by loads and stores,
extern const char* const kCopyAsyncText;        //   or by cp.async
extern const char* const kIdleThreadsText;      // threads without an output are done
extern const char* const kGlobalSourceText;     // read_row from global memory
extern const char* const kSharedSourceText;     // read_row from shared memory
extern const char* const kMaskedTapsText;       // load_row, load_weights, multiply_row
extern const char* const kTransposedTapsText;   // the same for quads of pixels
extern const char* const kKeptConstantsText;    // weights, bias and multipliers: loaded once
extern const char* const kReadConstantsText;    // loaded where they are used
extern const char* const kEndRowText;           // begin_row and end_row: bias, requantization, stores
extern const char* const kFilterRowsText;       // one output row; a format string for the unroll factor
extern const char* const kRowsKeptText;         // an output row from kept input rows
extern const char* const kSumsKeptText;         // an input row for all output rows
extern const char* const kFilterRowsFirstText;  // a filter row for all output rows

}  // namespace warpwright::depthwise
