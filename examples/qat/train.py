#!/usr/bin/env python3
"""Quantization-aware training in PyTorch, exported to QDQ: handwritten digits, float first, then 8 bits.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt && venv/bin/python train.py

Prints the accuracy in float, quantized without and with training, and writes model.onnx, the held-out images and labels.
scores.npy is what the integer rule gives for them, computed apart.
"""
import pathlib

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

import quantizers

HERE = pathlib.Path(__file__).resolve().parent
BATCH, FLOAT_EPOCHS, QUANTIZED_EPOCHS, FREEZE_AT = 32, 30, 12, 6


class Block(nn.Module):
    """Depthwise and pointwise convolution around a residual."""

    def __init__(self, channels):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.depthwise_norm = nn.BatchNorm2d(channels)
        self.pointwise = nn.Conv2d(channels, channels, 1, bias=False)
        self.pointwise_norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = torch.relu(self.depthwise_norm(self.depthwise(x)))
        return torch.relu(x + self.pointwise_norm(self.pointwise(y)))


class Digits(nn.Module):
    """An ordinary float network: batch normalizations, a residual, two branches that are joined, a mean, a dense layer."""

    def __init__(self):
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.block = Block(16)
        self.narrow, self.narrow_norm = nn.Conv2d(16, 16, 1, stride=2, bias=False), nn.BatchNorm2d(16)
        self.wide, self.wide_norm = nn.Conv2d(16, 32, 5, stride=2, padding=2, bias=False), nn.BatchNorm2d(32)
        self.last, self.last_norm = nn.Conv2d(48, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64)
        self.dense = nn.Linear(64, 10)

    def forward(self, image):
        x = self.block(torch.relu(self.stem_norm(self.stem(image))))
        x = torch.cat([torch.relu(self.narrow_norm(self.narrow(x))), torch.relu(self.wide_norm(self.wide(x)))], 1)
        x = torch.relu(self.last_norm(self.last(x)))
        return self.dense(functional.adaptive_avg_pool2d(x, 1).flatten(1))


def train(model, images, labels, epochs, rate, after_epoch=lambda epoch: None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    model.train()
    for epoch in range(epochs):
        for batch in torch.randperm(len(images)).split(BATCH):
            loss = functional.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        after_epoch(epoch)


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    return f"{int((model(images).argmax(1) == labels).sum())} of {len(labels)} held-out digits right"


def main():
    torch.manual_seed(11)
    torch.set_num_threads(1)
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    train_x, test_x, train_y, test_y = (torch.from_numpy(each) for each in train_test_split(
        images, digits.target, test_size=360, random_state=11, stratify=digits.target))

    model = Digits()
    train(model, train_x, train_y, FLOAT_EPOCHS, 3e-3)
    print("float:                     ", accuracy(model, test_x, test_y))

    model.eval()
    twin = quantizers.prepare(model)
    twin.train()
    with torch.no_grad():
        for batch in train_x.split(BATCH):  # the ranges alone
            twin(batch)
    print("quantized, without training:", accuracy(twin, test_x, test_y))

    train(twin, train_x, train_y, QUANTIZED_EPOCHS, 3e-4,
          lambda epoch: quantizers.freeze_ranges(twin) if epoch == FREEZE_AT else None)
    print("quantized, with training:   ", accuracy(twin, test_x, test_y))

    quantizers.export(twin, test_x[:1], HERE / "model.onnx", "image", "scores")
    np.save(HERE / "images.npy", test_x.numpy())
    np.save(HERE / "labels.npy", test_y.numpy().astype(np.int32))


if __name__ == "__main__":
    main()
