// Wires. They are painted into a picture of their own, a few milliseconds in each frame, and the last
// complete one is shown, moved and scaled, until the next is ready. So a frame takes the same time
// however many wires there are.

import { Raster } from "./raster.js";

// Milliseconds of a frame for wires, and how many are painted between two looks at the clock.
const BUDGET = 6;
const CHUNK = 128;
// Up to so many wires are curves on a canvas; more are straight lines of pixels.
const MOST_CURVES = 3000;
// From the ones that matter least to those that matter most: they are painted last.
export const STYLES = ["false", "true", "unknown"];
const STRENGTH = [0.5, 0.8, 1];

/** Wires, painted bit by bit into a picture that is shown once it is complete. */
export class WirePainter {
  constructor(drawing) {
    this.drawing = drawing;
    const isLarge = drawing.layout.wires.length / 2 > MOST_CURVES;
    const picture = () => (isLarge ? new Lines() : new Curves());
    [this.shown, this.hidden] = [picture(), picture()];
    this.job = null;
    this.isStale = true;
  }

  /** Paint for some milliseconds; say whether there is more to do. */
  work() {
    const end = performance.now() + BUDGET;
    if (this.job === null && this.isStale) {
      this.isStale = false;
      this.hidden.begin(this.drawing);
      this.job = this.paint(this.hidden);
    }
    while (this.job !== null && performance.now() < end) {
      if (!this.job.next().done) continue;
      this.hidden.end();
      [this.shown, this.hidden, this.job] = [this.hidden, this.shown, null];
    }
    return this.job !== null || this.isStale;
  }

  /** Draw the last complete picture where it belongs by now. */
  show(context) {
    const { canvas, view } = this.shown;
    if (!view) return;
    const { view: now, width, height } = this.drawing;
    const factor = now.scale / view.scale;
    const [x, y] = [(view.x - now.x) * now.scale, (view.y - now.y) * now.scale];
    context.drawImage(canvas, x, y, width * factor, height * factor);
  }

  /** Paint all wires; pause after each chunk. */
  *paint(picture) {
    const { drawing } = this;
    const { wires } = drawing.layout;
    const { focus } = drawing.marks;
    const most = Math.min(1, Math.max(0.16, 30 / Math.sqrt(wires.length)));
    for (const isFocused of focus === null ? [false] : [false, true]) {
      for (const [style, name] of STYLES.entries()) {
        const strength = isFocused ? 0.9 : most * STRENGTH[style] * (focus === null ? 1 : 0.2);
        picture.pen(drawing, name, strength, isFocused);
        for (let wire = 0; wire < wires.length; wire += 2) {
          const [from, to] = [wires[wire], wires[wire + 1]];
          if (drawing.sourceStyle(from) !== style) continue;
          const isFollowed = focus !== null && Boolean(focus.get(to)?.includes(from));
          if (isFollowed === isFocused && picture.wire(drawing.layout, from, to)) yield;
        }
        picture.flush();
        yield;
      }
    }
  }
}

/** What both kinds of pictures share: where the wires were when the picture was begun. */
class Picture {
  begin({ view, width, height, ratio }) {
    this.view = view;
    [this.pageWidth, this.pageHeight, this.ratio] = [width, height, ratio];
    this.count = 0;
  }

  /** Add a wire unless it is out of sight; say whether it is time for a pause. */
  wire({ x: xs, y: ys }, from, to) {
    const { x: left, y: top, scale } = this.view;
    const [x, y] = [(xs[from] - left) * scale, (ys[from] - top) * scale];
    const [endX, endY] = [(xs[to] - left) * scale, (ys[to] - top) * scale];
    const isAside = endX < 0 || x > this.pageWidth;
    if (isAside || Math.max(y, endY) < 0 || Math.min(y, endY) > this.pageHeight) return false;
    this.add(x, y, endX, endY);
    if (++this.count % CHUNK !== 0) return false;
    this.flush();
    return true;
  }

  flush() {}

  end() {}
}

/** Curves on a canvas, at the resolution of the screen. */
class Curves extends Picture {
  constructor() {
    super();
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
  }

  begin(drawing) {
    super.begin(drawing);
    this.canvas.width = Math.round(drawing.width * drawing.ratio);
    this.canvas.height = Math.round(drawing.height * drawing.ratio);
    this.context.scale(drawing.ratio, drawing.ratio);
    this.context.beginPath();
  }

  pen({ colours }, name, strength, isFocused) {
    this.context.strokeStyle = colours[name];
    this.context.globalAlpha = strength;
    this.context.lineWidth = isFocused ? 1.6 : 1;
  }

  add(x, y, endX, endY) {
    const middle = (x + endX) / 2;
    this.context.moveTo(x, y);
    this.context.bezierCurveTo(middle, y, middle, endY, endX, endY);
  }

  flush() {
    this.context.stroke();
    this.context.beginPath();
  }
}

/** Straight lines of pixels, one for each pixel of the page. */
class Lines extends Picture {
  constructor() {
    super();
    this.raster = new Raster();
    this.canvas = this.raster.canvas;
  }

  begin(drawing) {
    super.begin(drawing);
    this.raster.begin(drawing.width, drawing.height, drawing.bytes.paper);
  }

  pen({ bytes }, name, strength) {
    [this.colour, this.strength] = [bytes[name], strength];
  }

  add(x, y, endX, endY) {
    this.raster.line(x, y, endX, endY, this.colour, this.strength);
  }

  end() {
    this.raster.end();
  }
}
