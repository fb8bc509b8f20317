"""Inputs to calibrate and compare on, one sample a call, the same in every run: drawn or spoken here, since the
packages bring none, or the package's own files. Each is prepared as its package does it."""
import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFont

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = ROOT / "build/published-packages"
WORDS = ("the quick brown fox jumps over a lazy dog INVOICE 2026 Total 1,284.50 Main Street open closed price No. 17 "
         "network Warpwright kernel 3x3 8-bit GPU night package bits exact").split()


def random_of(number):
    return np.random.default_rng(1000 + number)


def words(random, count):
    return " ".join(random.choice(WORDS, count))


def colours(random):
    """Dark on light, or light on dark."""
    dark, light = random.integers(0, 90, 3), random.integers(160, 256, 3)
    pair = (tuple(map(int, light)), tuple(map(int, dark)))
    return pair if random.random() < 0.7 else pair[::-1]


def as_planes(image, random):
    """[1, 3, height, width] from -1 to 1, blue first, with some noise."""
    pixels = np.asarray(image, np.float32)[:, :, ::-1] + random.normal(0, 4, (image.height, image.width, 3))
    return ((np.clip(pixels, 0, 255) / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].astype(np.float32)


def drawn_line(random, shape, turned):
    """A line of text as high as the image, behind which the image is empty."""
    height, width = shape[2:]
    ground, ink = colours(random)
    font = ImageFont.load_default(height * random.uniform(0.5, 0.75))
    text = words(random, int(random.integers(1, 4)))
    image = Image.new("RGB", (width, height), ground)
    ImageDraw.Draw(image).text((4, height / 2), text, fill=ink, font=font, anchor="lm")
    return as_planes(image.rotate(180) if turned else image, random)


def line_of_text(number, shapes):
    random = random_of(number)
    return {"x": drawn_line(random, shapes["x"], turned=number % 2 == 1)}


def upright_line(number, shapes):
    return {"x": drawn_line(random_of(number), shapes["x"], turned=False)}


def page_of_text(number, shapes):
    random = random_of(number)
    height, width = shapes["x"][2:]
    ground, ink = colours(random)
    image = Image.new("RGB", (width, height), ground)
    draw = ImageDraw.Draw(image)
    y = int(random.integers(2, 16))
    while y < height - 12:
        size = int(random.integers(10, 24))
        x = int(random.integers(0, width // 2))
        draw.text((x, y), words(random, 3), fill=ink, font=ImageFont.load_default(size))
        y += size + int(random.integers(4, 20))
    return {"x": as_planes(image, random)}


def picture_of_characters(number, shapes):
    """Single characters, turned, over patches of colour; bytes as they are."""
    random = random_of(number)
    height, width = shapes["images"][2:]
    image = Image.new("RGB", (width, height), (114, 114, 114))
    draw = ImageDraw.Draw(image)
    for _ in range(30):
        x, y, size = (int(random.integers(0, extent)) for extent in (width, height, 160))
        draw.ellipse((x, y, x + size, y + size), fill=tuple(map(int, random.integers(60, 256, 3))))
    for _ in range(int(random.integers(3, 7))):
        size = int(random.integers(40, 90))
        glyph = Image.new("L", (size * 2, size * 2))
        ImageDraw.Draw(glyph).text((size, size), random.choice(list("ABCDEFGHKMNPRSTWXYZ2345678")), fill=255,
                                   font=ImageFont.load_default(size), anchor="mm")
        glyph = glyph.rotate(float(random.uniform(-40, 40)))
        place = (int(random.integers(0, width - size)), int(random.integers(0, height - size)))
        image.paste(tuple(map(int, random.integers(0, 120, 3))), place, glyph)
    return {"images": np.asarray(image, np.float32).transpose(2, 0, 1)[None].copy()}


def noisy_speech(number, shapes):
    """Syllables: harmonics of a moving pitch under two resonances, with noise, at 16 kHz."""
    random = random_of(number)
    count = shapes["input_1"][1]
    time = np.arange(count) / 16000
    steps = np.arange(0, time[-1] + 0.5, 0.2)
    pitch = np.interp(time, steps, random.uniform(90, 220, len(steps)))
    phase = 2 * np.pi * np.cumsum(pitch) / 16000
    first, second = (np.interp(time, steps, random.uniform(lo, hi, len(steps))) for lo, hi in ((300, 900), (900, 2500)))
    voice = np.zeros(count)
    for k in range(1, 20):
        loudness = 1 / (1 + ((k * pitch - first) / 150) ** 2) + 0.5 / (1 + ((k * pitch - second) / 250) ** 2)
        voice += loudness * np.sin(k * phase)
    loud = np.interp(time, steps, random.uniform(0, 1, len(steps)) * (random.random(len(steps)) > 0.3))
    voice *= loud / np.abs(voice).max()
    sound = 0.6 * voice + random.normal(0, 10 ** random.uniform(-4, -1), count)
    return {"input_1": np.clip(sound, -1, 1)[None].astype(np.float32)}


def sentence(number, shapes):
    """Word pieces between the marks of begin and end, then padding."""
    random = random_of(number)
    length = shapes["input_ids"][1]
    pieces = int(random.integers(length // 4, length - 1))
    ids = np.zeros((1, length), np.int64)
    ids[0, :pieces + 2] = [101, *random.integers(1996, 29000, pieces), 102][:length]
    return {"input_ids": ids, "attention_mask": (ids != 0).astype(np.int64), "token_type_ids": np.zeros_like(ids)}


def bytes_of_file(number, shapes):
    """The first and the last half of a file of the package itself, without spaces around, padded by 256."""
    half = shapes["bytes"][1] // 2
    paths = (PACKAGES / "magika==1.0.3").rglob("*")
    files = sorted(path for path in paths if path.is_file() and path.stat().st_size > 64)
    data = files[number % len(files)].read_bytes()
    row = np.full((1, 2 * half), 256, np.int32)
    first, last = data[:4096].lstrip()[:half], data[-4096:].rstrip()[-half:]
    row[0, :len(first)] = list(first)
    row[0, 2 * half - len(last):] = list(last)
    return {"bytes": row}
