// The fixed text of a dp4a_gemm kernel, in the order in which it is put together.
#pragma once

namespace warpwright::dp4a_gemm {

extern const char* const kPlacesText;       // who this thread is
extern const char* const kMaskText;         // rows to copy: address and bit mask of the taps inside the image
extern const char* const kCoordinatesText;  // the same with coordinates, for more than 32 taps
extern const char* const kLoadTileText;     // load_tile: its head, one of the two conditions, its tail
extern const char* const kValidByMaskText;
extern const char* const kValidByCoordinatesText;
extern const char* const kLoadTileTailText;
extern const char* const kStoreTileText;    // store_tile
extern const char* const kMultiplyText;     // multiply; a format string for the unroll factor
extern const char* const kSingleStageText;  // the loop over K
extern const char* const kDoubleStageText;
extern const char* const kStagedEpilogueText;
extern const char* const kDirectEpilogueText;
extern const char* const kOtherPadsText;

}  // namespace warpwright::dp4a_gemm
