// Drawing a plume onto a card's 2-D canvas: WebGL2 once for all cards, or plain canvas where there is none.

import { lifetime, WIDE } from "./particles.js";

export const ASPECT = 3 / 4; // width by height of a card's picture
const FOOT = 0.06; // where z = 0 stands above the lower edge
const TALL = 1.02; // heights in the picture
const [TOP, BOTTOM] = [[16, 22, 29], [35, 45, 56]]; // the ground, dark in either colour scheme: smoke is light
const TURN = 0.25; // radians a second that the eye walks round the column: it shows that there is depth

/** The best painter there is; `force` ("canvas") is for tests. */
export function painter(force) {
  const gl = force === "canvas" ? null : webgl();
  return gl ?? canvas2d();
}

/** How brightly one particle shines: more of them do not make it whiter, and what fades soon was thin from the start. */
export const exposure = (count, life = 2.5) => 0.16 * (400 / Math.max(60, count)) ** 0.7 * Math.min(1, Math.max(0.4, life / 2.5));

/** How much larger each is drawn, so that few still make smoke and not dust. */
export const puff = (count) => Math.min(1.6, Math.max(0.75, (500 / Math.max(60, count)) ** 0.4));

function ground(context, w, h) {
  const gradient = context.createLinearGradient(0, 0, 0, h);
  gradient.addColorStop(0, `rgb(${TOP})`);
  gradient.addColorStop(1, `rgb(${BOTTOM})`);
  context.globalCompositeOperation = "source-over";
  context.globalAlpha = 1;
  context.fillStyle = gradient;
  context.fillRect(0, 0, w, h);
}

const VERTEX = `#version 300 es
layout(location=0) in vec4 a; // x, y, z, age
layout(location=1) in vec3 b; // life, size, shade
uniform vec4 view; // cos, sin, aspect, pixels of a height
out vec3 glow;
void main() {
  float t = clamp(a.w / b.x, 0.0, 1.0);
  float x = view.x * a.x - view.y * a.y;
  float depth = 1.0 / (1.0 + 0.35 * (view.y * a.x + view.x * a.y));
  gl_Position = vec4(2.0 * x * depth / (${TALL} * view.z), 2.0 * (a.z + ${FOOT}) / ${TALL} - 1.0, 0.0, 1.0);
  gl_PointSize = max(2.0, view.w * (0.075 + 0.1 * t) * b.y * depth);
  float fade = smoothstep(0.0, 0.06, t) * (1.0 - t) * (1.0 - t);
  vec3 cool = mix(vec3(0.60, 0.68, 0.80), vec3(0.80, 0.80, 0.78), b.z);
  glow = mix(vec3(1.0, 0.66, 0.38), cool, smoothstep(0.0, 0.3, t)) * fade / (0.5 + 0.7 * t);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 glow;
uniform float bright;
out vec4 colour;
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0;
  float soft = max(0.0, 1.0 - dot(p, p));
  colour = vec4(glow * (soft * soft * bright), 1.0);
}`;

function webgl() {
  const canvas = document.createElement("canvas");
  const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, powerPreference: "low-power" });
  if (!gl) return null;
  const program = linked(gl);
  if (!program) return null;
  const buffer = gl.createBuffer();
  const view = gl.getUniformLocation(program, "view");
  const bright = gl.getUniformLocation(program, "bright");
  gl.useProgram(program);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.enableVertexAttribArray(0);
  gl.enableVertexAttribArray(1);
  gl.vertexAttribPointer(0, 4, gl.FLOAT, false, WIDE * 4, 0);
  gl.vertexAttribPointer(1, 3, gl.FLOAT, false, WIDE * 4, 16);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_COLOR); // screen: thick smoke tends to white and never bursts into it
  gl.clearColor(0, 0, 0, 1);
  return {
    name: "webgl2",
    lost: () => gl.isContextLost(),
    paint(context, cloud) {
      const { width: w, height: h } = context.canvas;
      if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
      }
      gl.viewport(0, 0, w, h);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.bufferData(gl.ARRAY_BUFFER, cloud.data.subarray(0, cloud.count * WIDE), gl.DYNAMIC_DRAW);
      const angle = TURN * cloud.time;
      gl.uniform4f(view, Math.cos(angle), Math.sin(angle), w / h, h * puff(cloud.count));
      gl.uniform1f(bright, exposure(cloud.count, lifetime(cloud.flow.p)));
      gl.drawArrays(gl.POINTS, 0, cloud.count);
      ground(context, w, h);
      context.globalCompositeOperation = "screen";
      context.drawImage(canvas, 0, 0);
    },
  };
}

function linked(gl) {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) ? program : null;
}

/** Spots added up in an array and put on the canvas at once: two thousand calls of drawImage a frame cost twenty times that. */
function canvas2d() {
  let light = new Float32Array(0);
  return {
    name: "canvas",
    tallest: 160, // pixels of a picture: the canvas is stretched, and smoke is soft
    lost: () => false,
    paint(context, cloud) {
      const { width: w, height: h } = context.canvas;
      if (light.length !== w * h * 3) light = new Float32Array(w * h * 3);
      light.fill(0);
      const angle = TURN * cloud.time;
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      const bright = exposure(cloud.count, lifetime(cloud.flow.p));
      const tall = h * puff(cloud.count);
      const { data } = cloud;
      for (let i = 0, at = 0; i < cloud.count; i++, at += WIDE) {
        const t = Math.min(1, data[at + 3] / data[at + 4]);
        const depth = 1 / (1 + 0.35 * (sin * data[at] + cos * data[at + 1]));
        const x = w / 2 + ((cos * data[at] - sin * data[at + 1]) * depth * h) / TALL;
        const y = h - ((data[at + 2] + FOOT) * h) / TALL;
        const radius = Math.max(1, (tall * (0.075 + 0.1 * t) * data[at + 5] * depth) / 2);
        const shine = (bright * (1 - t) * (1 - t) * Math.min(1, t / 0.06)) / (0.5 + 0.7 * t);
        spot(light, w, h, x, y, radius, shine, Math.min(1, t / 0.3));
      }
      developed(context, light, w, h);
    },
  };
}

function spot(light, w, h, x, y, radius, shine, cool) {
  const [red, green, blue] = [(1 - 0.3 * cool) * shine, (0.66 + 0.08 * cool) * shine, (0.38 + 0.41 * cool) * shine];
  const [left, right] = [Math.max(0, Math.ceil(x - radius)), Math.min(w - 1, Math.floor(x + radius))];
  const bottom = Math.min(h - 1, Math.floor(y + radius));
  for (let j = Math.max(0, Math.ceil(y - radius)); j <= bottom; j++) {
    const dy = (j - y) / radius;
    for (let i = left; i <= right; i++) {
      const dx = (i - x) / radius;
      const soft = Math.max(0, 1 - dx * dx - dy * dy);
      const at = 3 * (j * w + i);
      light[at] += red * soft * soft;
      light[at + 1] += green * soft * soft;
      light[at + 2] += blue * soft * soft;
    }
  }
}

/** Light over the ground: 1 − e^{−light} is what screening many thin spots comes to. */
function developed(context, light, w, h) {
  const image = context.createImageData(w, h);
  const pixels = image.data;
  for (let j = 0, p = 0, at = 0; j < h; j++) {
    const down = j / h;
    for (let i = 0; i < w; i++, p += 4, at += 3) {
      for (let c = 0; c < 3; c++) {
        const under = TOP[c] + (BOTTOM[c] - TOP[c]) * down;
        const lit = light[at + c];
        pixels[p + c] = lit === 0 ? under : 255 - (255 - under) * Math.exp(-lit);
      }
      pixels[p + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}
