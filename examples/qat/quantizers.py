"""Quantization-aware training: an ordinary network becomes one whose every tensor is rounded to 8 bits as it will be.

prepare(model) gives a trainable twin of a trained float network: convolutions with their batch normalizations folded
in, fake quantizers on inputs, weights and results. Rounding passes gradients straight through where a value is inside
the range, and stops them outside. export(model, ...) writes the twin as ONNX with QuantizeLinear and DequantizeLinear.
"""
import copy
import operator

import onnx
import torch
from torch import fx, nn
from torch.nn import functional

EPSILON = 2.0 ** -24


class ActivationQuantizer(nn.Module):
    """Unsigned 8 bits with a zero point. The range follows the data until `frozen`, by moving averages."""

    def __init__(self, momentum=0.05):
        super().__init__()
        self.momentum, self.frozen = momentum, False
        self.low = self.high = 0.0

    def forward(self, x):
        if self.training and not self.frozen:
            low, high = (float(end) for end in x.detach().aminmax())
            weight = 1 if self.low == self.high else self.momentum
            self.low += (min(low, 0) - self.low) * weight
            self.high += (max(high, 0) - self.high) * weight
        scale = max((self.high - self.low) / 255, EPSILON)
        return torch.fake_quantize_per_tensor_affine(x, scale, min(round(-self.low / scale), 255), 0, 255)


class WeightQuantizer(nn.Module):
    """Signed 8 bits, one scale an output channel; -128 is not used. The scales follow the weights while they train."""

    def __init__(self, weight):
        super().__init__()
        self.register_buffer("scale", torch.zeros(weight.shape[0]))
        self.follow(weight)

    def follow(self, weight):
        self.scale = (weight.detach().abs().flatten(1).amax(1) / 127).clamp(min=EPSILON)

    def forward(self, weight):
        if self.training:
            self.follow(weight)
        zero_point = torch.zeros_like(self.scale, dtype=torch.int32)
        # The exporter knows the full range alone; within +-127 scales nothing reaches -128.
        return torch.fake_quantize_per_channel_affine(weight, self.scale, zero_point, 0, -128, 127)


class QuantizedProduct(nn.Module):
    """A convolution or dense layer with its batch normalization folded in, a ReLU, and the quantizer of its result."""

    def __init__(self, product, normalization=None, relu=False):
        super().__init__()
        self.product, self.relu, self.quantizer = product, relu, ActivationQuantizer()
        if normalization is not None:
            fold(product, normalization)
        elif product.bias is None:
            product.bias = nn.Parameter(torch.zeros(product.weight.shape[0]))
        self.weight_quantizer = WeightQuantizer(product.weight)

    def forward(self, x):
        weight, bias = self.weight_quantizer(self.product.weight), self.product.bias
        if isinstance(self.product, nn.Linear):
            y = functional.linear(x, weight, bias)
        else:
            y = self.product._conv_forward(x, weight, bias)
        return self.quantizer(functional.relu(y) if self.relu else y)


@torch.no_grad()
def fold(product, normalization):
    """w' = w * gamma / sigma, b' = (b - mean) * gamma / sigma + beta."""
    gain = normalization.weight / (normalization.running_var + normalization.eps).sqrt()
    bias = product.bias if product.bias is not None else torch.zeros_like(gain)
    product.weight.mul_(gain.reshape(-1, *[1] * (product.weight.dim() - 1)))
    product.bias = nn.Parameter((bias - normalization.running_mean) * gain + normalization.bias)


def module_of(traced, node, *types):
    module = traced.get_submodule(node.target) if node.op == "call_module" else None
    return module if isinstance(module, types) else None


def is_relu(traced, node):
    return module_of(traced, node, nn.ReLU) is not None or (
        node.op == "call_function" and node.target in (torch.relu, functional.relu))


def only_user(node):
    return next(iter(node.users)) if len(node.users) == 1 else None


QUANTIZED_FUNCTIONS = (operator.add, torch.add, torch.cat, functional.adaptive_avg_pool2d)


def prepare(model):
    """The trainable twin; `model` itself stays as it is."""
    traced = fx.symbolic_trace(model)
    for node in list(traced.graph.nodes):
        product = module_of(traced, node, nn.Conv2d, nn.Linear)
        if product is not None:
            fuse_product(traced, node, product)
        elif node.op == "placeholder" or (node.op == "call_function" and node.target in QUANTIZED_FUNCTIONS):
            quantize_result(traced, node)
    traced.graph.lint()
    traced.recompile()
    return traced


def fuse_product(traced, node, product):
    """The product, and what follows it alone: a batch normalization, a ReLU."""
    normalization, fused_away = None, []
    user = only_user(node)
    if user is not None and module_of(traced, user, nn.BatchNorm2d) is not None:
        normalization = traced.get_submodule(user.target)
        fused_away.append(user)
        user = only_user(user)
    relu = user is not None and is_relu(traced, user)
    if relu:
        fused_away.append(user)
    parent, _, name = node.target.rpartition(".")
    setattr(traced.get_submodule(parent), name, QuantizedProduct(copy.deepcopy(product), normalization, relu))
    if fused_away:
        fused_away[-1].replace_all_uses_with(node)
    for gone in reversed(fused_away):
        traced.graph.erase_node(gone)


def quantize_result(traced, node):
    """A quantizer behind `node`; behind a ReLU, if that alone reads it."""
    user = only_user(node)
    if user is not None and is_relu(traced, user):
        node = user
    name = f"{node.name}_quantizer"
    traced.add_submodule(name, ActivationQuantizer())
    with traced.graph.inserting_after(node):
        quantizer = traced.graph.call_module(name, (node,))
    node.replace_all_uses_with(quantizer)
    quantizer.args = (node,)


def freeze_ranges(model):
    for module in model.modules():
        if isinstance(module, ActivationQuantizer):
            module.frozen = True


def export(model, example, path, input_name, output_name):
    """Opset 13, dynamic batch."""
    model.eval()
    torch.onnx.export(model, example, path, opset_version=13, dynamo=False, input_names=[input_name],
                      output_names=[output_name], dynamic_axes={input_name: {0: "batch"}, output_name: {0: "batch"}})
    exported = onnx.load(path)
    for node in exported.graph.node:
        node.ClearField("doc_string")
    onnx.save(exported, path)
