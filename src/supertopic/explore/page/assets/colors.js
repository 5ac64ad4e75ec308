/* Colours: 24 for topics, told apart with any kind of colour vision; blue for more, orange for less. */

/* Chosen so that the smallest distance in OKLab is large, for normal vision and three kinds of colour blindness. */
const TOPIC_COLORS = {
  light: (
    "#2a78b4 #f4741e #6e1c03 #401993 #c53d12 #43aadd #8da59b #494980 #845754 #827586 #665e84 #7f69e4 " +
    "#ad1d10 #dd5917 #0e4d52 #9c795d #6933aa #9480fe #86133d #cd8d6d #5c156e #9f84a8 #6056cf #5989d0"
  ).split(" "),
  dark: (
    "#2877b3 #f4741e #dcbffd #c43b10 #81fcb4 #a295fe #a78f96 #c5b58a #f6e12b #8d78f5 #b33a8e #dc5815 " +
    "#2492c5 #f9c46e #fa9c45 #84d9c1 #b77461 #58abc7 #a05c58 #cae2ee #8ac0ce #cb8f68 #c25486 #7760db"
  ).split(" "),
};

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

const topicColors = () => TOPIC_COLORS[isDark() ? "dark" : "light"];
const topicColor = (k) => topicColors()[k % 24];

/* A colour of the style sheet, such as paint("ink"). */
const paint = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const upDown = (value) => paint(value < 0 ? "down" : "up");

/* The colour a share of the way from one to another. */
function blend(from, to, share) {
  const [a, b] = [from, to].map((color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16)));
  const mixed = a.map((value, i) => Math.round(value + (b[i] - value) * share));
  return "#" + mixed.map((value) => value.toString(16).padStart(2, "0")).join("");
}

/* A diverging scale: value from -1 to 1; and one from the surface to the accent: from 0 to 1. */
const diverging = (value) => blend(paint("surface"), upDown(value), Math.min(Math.abs(value), 1));
const sequential = (value) => blend(paint("surface"), paint("accent"), clamp(value, 0, 1));
