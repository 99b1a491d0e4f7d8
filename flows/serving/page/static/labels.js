// Labels: the names of the clusters, each placed in free space beside its chunks, with a line to their center.

const CELL = 6; // pixels: as wide as a point of a map of some thousands
const REACH = [0, 26, 44, 64, 88, 116, 150, 190]; // distances in pixels from the center of a cluster that are tried
const WAYS = 16; // directions tried at each distance
const GAP = 3; // pixels between two names

/**
 * Move the names to the current places of their clusters. While the map is dragged, each keeps its distance; after a new
 * drawing, free space is searched again. A name without free space is hidden: the list beside the map has all names.
 */
export function placeNames(names, lines, scatter) {
  if (!names || !scatter?.places) return;
  const [width, height] = [names.clientWidth, names.clientHeight];
  const taken = scatter.rests() ? takenBy(scatter, width, height) : null;
  const shown = [];
  for (const one of names.children) {
    const [x, y] = scatter.toScreen(Number(one.dataset.x), Number(one.dataset.y));
    const size = (one.measured ??= [one.offsetWidth + GAP, one.offsetHeight + GAP]);
    if (taken) one.away = x < 0 || y < 0 || x > width || y > height ? null : roomFor(x, y, size, taken, shown, width, height);
    one.style.visibility = one.away ? "" : "hidden";
    if (!one.away) continue;
    const [left, top] = [x + one.away[0], y + one.away[1]];
    shown.push({ x: left, y: top, size, from: [x, y] });
    one.style.transform = `translate(${left}px, ${top}px) translate(-50%, -50%)`;
  }
  lines?.setAttribute("d", shown.filter(leads).map(({ x, y, from }) => `M${from.map(Math.round)}L${Math.round(x)},${Math.round(y)}`).join(""));
}

/** Whether a name is so far from its cluster that it needs a line to it. */
const leads = ({ x, y, size, from }) => Math.abs(x - from[0]) > size[0] / 2 || Math.abs(y - from[1]) > size[1] / 2;

/** Return the offset [x, y] from its cluster at which a name has free space, or null. */
function roomFor(x, y, [wide, high], taken, shown, width, height) {
  for (const reach of REACH) {
    for (let way = 0; way < (reach ? WAYS : 1); way += 1) {
      // A name is several times as wide as high, so it must be further away sideways for the same gap.
      const away = [Math.cos((2 * Math.PI * way) / WAYS) * (reach && reach + wide / 2), Math.sin((2 * Math.PI * way) / WAYS) * (reach && reach + high / 2)];
      const [left, top] = [x + away[0] - wide / 2, y + away[1] - high / 2];
      const inside = left >= 0 && top >= 0 && left + wide <= width && top + high <= height;
      const apart = shown.every((own) => Math.abs(own.x - x - away[0]) * 2 >= own.size[0] + wide || Math.abs(own.y - y - away[1]) * 2 >= own.size[1] + high);
      if (inside && apart && taken(left, top, wide, high) === 0) return away;
    }
  }
  return null;
}

/** Return a function that counts the cells with a point in a rectangle of the canvas, from a summed-area table. */
function takenBy(scatter, width, height) {
  const [columns, rows] = [Math.ceil(width / CELL) + 1, Math.ceil(height / CELL) + 1];
  const sums = new Int32Array((columns + 1) * (rows + 1));
  const { places } = scatter;
  for (let point = 0; point < places.length; point += 2) {
    const [x, y] = scatter.toScreen(places[point], places[point + 1]);
    if (x >= 0 && y >= 0 && x < width && y < height) sums[(Math.floor(y / CELL) + 1) * (columns + 1) + Math.floor(x / CELL) + 1] = 1;
  }
  for (let row = 1; row <= rows; row += 1)
    for (let column = 1; column <= columns; column += 1) {
      const at = row * (columns + 1) + column;
      sums[at] += sums[at - 1] + sums[at - columns - 1] - sums[at - columns - 2];
    }
  const before = (column, row) => sums[Math.min(rows, Math.max(0, row)) * (columns + 1) + Math.min(columns, Math.max(0, column))];
  return (left, top, wide, high) => {
    const [west, north, east, south] = [Math.floor(left / CELL), Math.floor(top / CELL), Math.ceil((left + wide) / CELL), Math.ceil((top + high) / CELL)];
    return before(east, south) - before(west, south) - before(east, north) + before(west, north);
  };
}
