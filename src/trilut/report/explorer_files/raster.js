// Pixels by hand. A canvas takes a microsecond or more for each thing that is drawn on it; ten
// thousand nets and twice as many wires in a frame take less when they are written as pixels.

/** A picture that nets are stamped into and wires are drawn into, and that a canvas shows. */
export class Raster {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d", { willReadFrequently: true });
  }

  /** Start a new picture, all of one colour (red, green, blue, alpha). */
  begin(width, height, colour) {
    const { canvas } = this;
    if (canvas.width !== width || canvas.height !== height || !this.image) {
      [canvas.width, canvas.height] = [width, height];
      this.image = this.context.createImageData(width, height);
      this.bytes = this.image.data;
      this.pixels = new Uint32Array(this.bytes.buffer);
    }
    [this.width, this.height] = [width, height];
    this.bytes.set(colour);
    this.pixels.fill(this.pixels[0]);
  }

  /** Show what was drawn on the canvas of the picture. */
  end() {
    this.context.putImageData(this.image, 0, 0);
  }

  /** Put a small picture, {size, pixels}, around a pixel; what is transparent in it stays. */
  stamp({ size, pixels }, x, y) {
    const left = Math.round(x - size / 2);
    const top = Math.round(y - size / 2);
    const [first, last] = [Math.max(0, -left), Math.min(size, this.width - left)];
    for (let row = Math.max(0, -top); row < Math.min(size, this.height - top); row++) {
      const start = (top + row) * this.width + left;
      for (let column = first; column < last; column++) {
        const pixel = pixels[row * size + column];
        if (pixel !== 0) this.pixels[start + column] = pixel;
      }
    }
  }

  /** Draw a smooth line of a colour and a strength 0 … 1 over what is there. */
  line(x, y, endX, endY, colour, strength) {
    const isSteep = Math.abs(endY - y) > Math.abs(endX - x);
    if (isSteep)
      this.walk(y, x, endY, endX, this.height, this.width, this.width, 1, colour, strength);
    else this.walk(x, y, endX, endY, this.width, this.height, 1, this.width, colour, strength);
  }

  /** Go along the longer side, and share each step between the two nearest pixels (Wu). */
  walk(from, across, to, acrossEnd, length, breadth, stride, acrossStride, colour, strength) {
    if (from > to) [from, across, to, acrossEnd] = [to, acrossEnd, from, across];
    const slope = to === from ? 0 : (acrossEnd - across) / (to - from);
    const first = Math.max(0, Math.ceil(from));
    const last = Math.min(length - 1, Math.floor(to));
    let place = across + (first - from) * slope;
    for (let step = first; step <= last; step++, place += slope) {
      const whole = Math.floor(place);
      const rest = place - whole;
      const pixel = step * stride + whole * acrossStride;
      if (whole >= 0 && whole < breadth) this.mix(pixel, colour, strength * (1 - rest));
      if (whole >= -1 && whole < breadth - 1)
        this.mix(pixel + acrossStride, colour, strength * rest);
    }
  }

  mix(pixel, [red, green, blue], strength) {
    const { bytes } = this;
    const byte = 4 * pixel;
    bytes[byte] += (red - bytes[byte]) * strength;
    bytes[byte + 1] += (green - bytes[byte + 1]) * strength;
    bytes[byte + 2] += (blue - bytes[byte + 2]) * strength;
  }
}

/** The red, green, blue and alpha, 0 … 255, of a colour as a style sheet writes it. */
export function bytesOf(colour) {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data];
}
