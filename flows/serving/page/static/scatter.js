// Scatter: many points to move, zoom, point at and encircle, drawn by WebGL 2 in one call.
//
// The maintained libraries for this either build programs from strings, which would need "unsafe-eval" in the content
// security policy, or are larger than this page may be.

const POINTED_PX = 9; // maximal distance of the pointer from a point
const CELLS = 256; // per side of the grid: 100,000 points are about 1.5 per cell
const [LEAST, MOST] = [0.8, 400]; // of the scale: from a little more than everything to a small part
const SLOW_MS = 25; // between two drawings: at 40 per second, the page has time for its other work
const SLOW_FRAMES = 4; // in a row, so that a single slow frame does not count
const REST_MS = 120; // without a movement, after which a moved picture is drawn again
const FAR = 1 / 3; // of the width; moved further, a picture leaves too much of the canvas empty
const STEP = 1.0015; // of the scale for each pixel of the wheel

const VERTEX = `#version 300 es
in vec2 place; in vec3 colour; in float faint;
uniform vec2 shift; uniform vec2 scale; uniform float size;
out vec4 shown;
void main() {
  gl_Position = vec4(place * scale + shift, 0.0, 1.0);
  gl_PointSize = size;
  shown = vec4(colour, faint > 0.5 ? 0.12 : 0.85);
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 shown; out vec4 out_colour;
void main() {
  float away = length(gl_PointCoord - 0.5);
  if (away > 0.5) discard;
  out_colour = vec4(shown.rgb * shown.a, shown.a);
}`;

/** Points on a canvas. Calls `over` with the number of the point under the pointer or -1, `chosen` with those encircled. */
export class Scatter {
  constructor(canvas, { over, chosen, moved }) {
    this.canvas = canvas;
    this.told = { over, chosen, moved };
    this.view = { x: 0.5, y: 0.5, scale: 1 };
    this.gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
    if (!this.gl) throw new Error("This browser has no WebGL 2, which draws the map.");
    this.start();
    this.listen();
    this.watched = new ResizeObserver(() => this.resize());
    this.watched.observe(canvas);
  }

  start() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.program = program;
    this.at = Object.fromEntries(["shift", "scale", "size"].map((name) => [name, gl.getUniformLocation(program, name)]));
  }

  /** Set the points: places in [0, 1] as x, y, x, y, ..., colours as red, green, blue in [0, 255], and which are faint. */
  take(places, colours, faint) {
    this.places = places;
    this.grid = gridOf(places);
    this.attribute("place", places, 2, this.gl.FLOAT, false);
    this.paint(colours, faint);
  }

  /** Give the points other colours. */
  paint(colours, faint) {
    this.faint = faint;
    this.drawn = undefined; // it has the old colours
    this.attribute("colour", colours, 3, this.gl.UNSIGNED_BYTE, true);
    this.attribute("faint", faint, 1, this.gl.UNSIGNED_BYTE, false);
    this.draw();
  }

  attribute(name, values, size, type, normal) {
    const { gl } = this;
    this.buffers ??= {};
    gl.bindBuffer(gl.ARRAY_BUFFER, (this.buffers[name] ??= gl.createBuffer()));
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    const place = gl.getAttribLocation(this.program, name);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, type, normal, 0, 0);
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.drawn = undefined; // it is empty now
    this.draw();
  }

  /** Return the pixels of the canvas for one unit of the map, which is as wide as high. */
  unit() {
    return Math.min(this.canvas.clientWidth, this.canvas.clientHeight) * this.view.scale * 0.94;
  }

  /** Return the position on the canvas, in pixels, of a place of the map. */
  toScreen(x, y) {
    const unit = this.unit();
    return [this.canvas.clientWidth / 2 + (x - this.view.x) * unit, this.canvas.clientHeight / 2 - (y - this.view.y) * unit];
  }

  toMap(x, y) {
    const unit = this.unit();
    return [this.view.x + (x - this.canvas.clientWidth / 2) / unit, this.view.y - (y - this.canvas.clientHeight / 2) / unit];
  }

  /** Draw in the next frame, only once however often this is called. */
  draw() {
    this.frame ??= requestAnimationFrame((now) => {
      this.frame = undefined;
      if (this.slow && this.mayMove()) this.movePicture();
      else this.drawNow(now);
    });
  }

  /**
   * Measure how long drawings take. If they are slow, as without a GPU, the existing picture is moved and scaled as a
   * whole, which costs nothing, and is drawn again when the movement ends.
   */
  note(now) {
    const gap = now - (this.drawnAt ?? 0);
    this.drawnAt = now;
    this.slowOnes = gap > SLOW_MS && gap < 4 * REST_MS ? (this.slowOnes ?? 0) + 1 : 0;
    this.slow ||= this.slowOnes >= SLOW_FRAMES;
  }

  /** Return whether the points are drawn at their current places, rather than as a moved picture. */
  rests() {
    const { view, drawn } = this;
    return Boolean(drawn) && drawn.x === view.x && drawn.y === view.y && drawn.scale === view.scale;
  }

  /** Return how to place the last picture now: its shift by x and y, and its scale. */
  moved() {
    const { view, drawn } = this;
    const unit = this.unit();
    return { x: (drawn.x - view.x) * unit, y: (view.y - drawn.y) * unit, by: view.scale / drawn.scale };
  }

  mayMove() {
    if (!this.drawn) return false;
    const { x, y, by } = this.moved();
    return Math.abs(x) < FAR * this.canvas.clientWidth && Math.abs(y) < FAR * this.canvas.clientHeight && by > 0.5 && by < 2;
  }

  movePicture() {
    const { x, y, by } = this.moved();
    this.canvas.style.transform = `translate(${x}px, ${y}px) scale(${by})`;
    this.told.moved();
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.drawNow(), REST_MS);
  }

  drawNow(now) {
    const { gl, canvas, view } = this;
    if (!this.places) return;
    if (now) this.note(now);
    clearTimeout(this.rest);
    this.drawn = { ...view };
    canvas.style.transform = "";
    const scale = [(2 * this.unit()) / canvas.clientWidth, (2 * this.unit()) / canvas.clientHeight];
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.at.scale, ...scale);
    gl.uniform2f(this.at.shift, -view.x * scale[0], -view.y * scale[1]);
    gl.uniform1f(this.at.size, this.pointSize() * (devicePixelRatio || 1));
    gl.drawArrays(gl.POINTS, 0, this.places.length / 2);
    this.told.moved();
  }

  /** Return the width of a point in pixels, larger for fewer points and a nearer view. */
  pointSize() {
    const few = Math.sqrt(40000 / Math.max(1, this.places.length / 2));
    return Math.max(2, Math.min(12, 4 * Math.min(2, few) * Math.sqrt(this.view.scale)));
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const before = this.toMap(x, y);
    this.view.scale = Math.min(MOST, Math.max(LEAST, this.view.scale * factor));
    const after = this.toMap(x, y);
    this.view.x += before[0] - after[0];
    this.view.y += before[1] - after[1];
    this.draw();
  }

  move(dx, dy) {
    this.view.x -= dx / this.unit();
    this.view.y += dy / this.unit();
    this.draw();
  }

  listen() {
    const { canvas } = this;
    const at = (event) => { // on the container of the canvas, because the canvas itself may be moved
      const holder = canvas.parentElement;
      const { left, top } = holder.getBoundingClientRect();
      return [event.clientX - left - holder.clientLeft, event.clientY - top - holder.clientTop];
    };
    let held = null; // the action of the pressed pointer: moving the map or encircling points
    canvas.addEventListener("wheel", (event) => (event.preventDefault(), this.zoom(STEP ** -event.deltaY, ...at(event))), { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held = { from: at(event), line: event.shiftKey || this.encircling ? [at(event)] : null };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) return this.told.over(this.near(...at(event)));
      const here = at(event);
      if (held.line) this.told.moved(held.line.concat([here]), held.line.push(here));
      else this.move(here[0] - held.from[0], here[1] - held.from[1]);
      held.from = here;
    });
    canvas.addEventListener("pointerup", () => {
      if (held?.line?.length > 2) this.told.chosen(this.within(held.line));
      held = null;
      this.told.moved();
    });
    canvas.addEventListener("pointerleave", () => this.told.over(-1));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const step = 40;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) this.move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "0") Object.assign(this.view, { x: 0.5, y: 0.5, scale: 1 }), this.draw();
    else return;
    event.preventDefault();
  }

  /** Return the number of the point at a position on the canvas, or -1. */
  near(x, y) {
    if (!this.places) return -1;
    const [mapX, mapY] = this.toMap(x, y);
    const reach = POINTED_PX / this.unit();
    let [best, nearest] = [-1, reach * reach];
    for (const point of this.grid.around(mapX, mapY, reach)) {
      const away = (this.places[2 * point] - mapX) ** 2 + (this.places[2 * point + 1] - mapY) ** 2;
      if (away < nearest && !this.faint[point]) [best, nearest] = [point, away];
    }
    return best;
  }

  /** Return the numbers of the points within a line on the canvas. */
  within(line) {
    const corners = line.map(([x, y]) => this.toMap(x, y));
    const found = [];
    for (let point = 0; point < this.places.length / 2; point += 1)
      if (!this.faint[point] && inside(this.places[2 * point], this.places[2 * point + 1], corners)) found.push(point);
    return found;
  }

  close() {
    this.watched.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rest);
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

/** Return whether a place is inside a polygon: a line from it to the right crosses the sides an odd number of times. */
function inside(x, y, corners) {
  let odd = false;
  for (let one = 0, other = corners.length - 1; one < corners.length; other = one++) {
    const [[x1, y1], [x2, y2]] = [corners[one], corners[other]];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) odd = !odd;
  }
  return odd;
}

/** Return the points by grid cell. */
function gridOf(places) {
  const cell = (value) => Math.min(CELLS - 1, Math.max(0, Math.floor(value * CELLS)));
  const cells = new Map();
  for (let point = 0; point < places.length / 2; point += 1) {
    const key = cell(places[2 * point]) * CELLS + cell(places[2 * point + 1]);
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(point);
  }
  return {
    *around(x, y, reach) {
      for (let column = cell(x - reach); column <= cell(x + reach); column += 1)
        for (let row = cell(y - reach); row <= cell(y + reach); row += 1) yield* cells.get(column * CELLS + row) ?? [];
    },
  };
}
