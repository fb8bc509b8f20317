#!/usr/bin/env python3
"""Trains the example network on scikit-learn's handwritten digits with quantization-aware training, exports QDQ.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt && venv/bin/python train.py

Writes model.onnx (signed 8-bit activations and per-channel weights, all zero points 0, dynamic batch), and the 360
held-out images with their labels. The digits are the UCI set "Optical Recognition of Handwritten Digits" (E. Alpaydin,
C. Kaynak, CC BY 4.0), as scikit-learn ships it.
"""
import pathlib

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.ao.quantization import FakeQuantize, MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver

HERE = pathlib.Path(__file__).resolve().parent
EPOCHS, BATCH, QUANTIZE_FROM, FREEZE_RANGES_AT = 60, 32, 20, 40


def activation_quantizer():
    return FakeQuantize(MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=torch.qint8,
                        qscheme=torch.per_tensor_symmetric)


def weight_quantizer():
    return FakeQuantize(MovingAveragePerChannelMinMaxObserver, quant_min=-127, quant_max=127, dtype=torch.qint8,
                        qscheme=torch.per_channel_symmetric, ch_axis=0)


class FrozenQuantizer(nn.Module):
    """A FakeQuantize with its ranges settled, in the form that the exporter writes as QuantizeLinear, DequantizeLinear."""

    def __init__(self, learned):
        super().__init__()
        self.low, self.high, self.per_channel = learned.quant_min, learned.quant_max, learned.is_per_channel
        self.scale, self.zero_point = learned.scale.detach().clone(), learned.zero_point.detach().clone().int()

    def forward(self, x):
        if self.per_channel:
            # The exporter knows the full range alone; weights within +-127 scales do not reach -128.
            return torch.fake_quantize_per_channel_affine(x, self.scale, self.zero_point, 0, -128, 127)
        return torch.fake_quantize_per_tensor_affine(x, float(self.scale), int(self.zero_point), self.low, self.high)


def freeze(module):
    for name, child in module.named_children():
        if isinstance(child, FakeQuantize):
            setattr(module, name, FrozenQuantizer(child))
        else:
            freeze(child)


class QuantizedConv(nn.Conv2d):
    """A convolution whose weights and result are fake-quantized."""

    def __init__(self, *args, relu=True, **kwargs):
        super().__init__(*args, **kwargs)
        self.relu, self.weight_quantizer, self.output_quantizer = relu, weight_quantizer(), activation_quantizer()

    def forward(self, x):
        y = self._conv_forward(x, self.weight_quantizer(self.weight), self.bias)
        return self.output_quantizer(torch.relu(y) if self.relu else y)


class Digits(nn.Module):
    """8x8 image -> 10 scores: a stem, a depthwise-separable residual block, a strided convolution, a dense layer."""

    def __init__(self):
        super().__init__()
        self.image_quantizer = activation_quantizer()
        self.stem = QuantizedConv(1, 16, 3, padding=1)
        self.down = QuantizedConv(16, 32, 3, stride=2, padding=1)
        self.depthwise = QuantizedConv(32, 32, 3, padding=1, groups=32)
        self.pointwise = QuantizedConv(32, 32, 1, relu=False)
        self.sum_quantizer = activation_quantizer()
        self.wide = QuantizedConv(32, 64, 3, stride=2, padding=1)
        self.pool_quantizer = activation_quantizer()
        self.dense = nn.Linear(64, 10)
        self.dense_weight_quantizer, self.score_quantizer = weight_quantizer(), activation_quantizer()

    def forward(self, image):
        x = self.down(self.stem(self.image_quantizer(image)))
        x = self.sum_quantizer(x + self.pointwise(self.depthwise(x)))
        x = self.pool_quantizer(nn.functional.adaptive_avg_pool2d(self.wide(x), 1)).flatten(1)
        x = nn.functional.linear(x, self.dense_weight_quantizer(self.dense.weight), self.dense.bias)
        return self.score_quantizer(x)


def train(model, images, labels):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    model.apply(torch.ao.quantization.disable_fake_quant)
    for epoch in range(EPOCHS):
        if epoch == QUANTIZE_FROM:
            model.apply(torch.ao.quantization.enable_fake_quant)
        if epoch == FREEZE_RANGES_AT:
            model.apply(torch.ao.quantization.disable_observer)
        for batch in torch.randperm(len(images)).split(BATCH):
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    train_x, test_x, train_y, test_y = train_test_split(images, digits.target, test_size=360, random_state=7,
                                                        stratify=digits.target)
    model = Digits()
    train(model, torch.from_numpy(train_x), torch.from_numpy(train_y))
    model.eval()
    freeze(model)
    with torch.no_grad():
        right = int((model(torch.from_numpy(test_x)).argmax(1).numpy() == test_y).sum())
    print(f"{right} of {len(test_y)} held-out digits right")

    torch.onnx.export(model, torch.from_numpy(test_x[:1]), HERE / "model.onnx", opset_version=13, dynamo=False,
                      input_names=["image"], output_names=["scores"],
                      dynamic_axes={"image": {0: "batch"}, "scores": {0: "batch"}})
    exported = onnx.load(HERE / "model.onnx")
    for node in exported.graph.node:
        node.ClearField("doc_string")
    onnx.save(exported, HERE / "model.onnx")
    np.save(HERE / "images.npy", test_x)
    np.save(HERE / "labels.npy", test_y.astype(np.int32))


if __name__ == "__main__":
    main()
