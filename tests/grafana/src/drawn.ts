// What stands on the screen: text on canvases, clipped text, and the room that legends and plots have.

const written = new WeakMap<HTMLCanvasElement, Set<string>>();

/** From now on remember what is written on canvases: time series are drawn there, and hold no text to read. */
export function remember(): void {
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    const texts = written.get(this.canvas) ?? new Set();
    written.set(this.canvas, texts.add(text));
    return fillText.call(this, text, ...rest);
  };
  CanvasRenderingContext2D.prototype.clearRect = function (x, y, width, height) {
    if (width >= this.canvas.width && height >= this.canvas.height) {
      written.delete(this.canvas);
    }
    return clearRect.call(this, x, y, width, height);
  };
}

export interface Clipped {
  text: string;
  head: boolean;
  width: number;
  room: number;
}

/** Width of an element's text, and how far it reaches beyond a box on either side. */
function textIn(element: Element, box: DOMRect): { width: number; beyond: number } {
  const range = document.createRange();
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = { width: 0, beyond: 0 };
  while (nodes.nextNode()) {
    range.selectNodeContents(nodes.currentNode);
    const { left, right, width } = range.getBoundingClientRect();
    if (width > 0) {
      found.width = Math.max(found.width, width);
      found.beyond = Math.max(found.beyond, box.left - left, right - box.right);
    }
  }
  return found;
}

/** Cells and heads of tables whose text is wider than they are. */
function clipped(element: Element): Clipped[] {
  const cells = element.querySelectorAll<HTMLElement>('[role="columnheader"], [role="gridcell"]');
  return [...cells].flatMap((cell) => {
    const { width, beyond } = textIn(cell, cell.getBoundingClientRect());
    const hidden = [cell, ...cell.querySelectorAll<HTMLElement>('*')].some(
      (one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible'
    );
    return beyond > 1 || hidden
      ? [
          {
            text: cell.innerText.trim(),
            head: cell.getAttribute('role') === 'columnheader',
            width: Math.round(width),
            room: cell.clientWidth,
          },
        ]
      : [];
  });
}

interface Size {
  width: number;
  height: number;
}

function sizeOf(element: Element | null): Size | undefined {
  const box = element?.getBoundingClientRect();
  return box && { width: Math.round(box.width), height: Math.round(box.height) };
}

/** A table's rows, from left to right as they are shown. */
function rowsOf(element: Element): string[][] {
  return [...element.querySelectorAll('[role="row"]')].map((row) =>
    [...row.querySelectorAll<HTMLElement>('[role="gridcell"], [role="columnheader"]')].map((cell) => cell.innerText.trim())
  );
}

/** Of the lines of a state timeline. */
function namesOf(element: Element) {
  return [...element.querySelectorAll<SVGTextElement>('svg text[data-cut]')].map((one) => ({
    text: (one.textContent ?? '').trim(),
    cut: one.dataset.cut === 'true',
  }));
}

function isCut(element: Element | null): boolean {
  return element !== null && element.scrollWidth > element.clientWidth + 1;
}

/** Texts of a stat that do not fit: they end in dots, or lie below the panel. */
function cutTiles(element: Element): string[] {
  const content = element.querySelector('[data-testid="data-testid panel content"]');
  const texts = document.createTreeWalker(content ?? element, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const { bottom } = element.getBoundingClientRect();
  const found: string[] = [];
  while (texts.nextNode()) {
    const parent = texts.currentNode.parentElement!;
    range.selectNodeContents(texts.currentNode);
    if (parent.scrollWidth > parent.clientWidth + 1 && parent.clientWidth > 0 || range.getBoundingClientRect().bottom > bottom + 1) {
      found.push(texts.currentNode.textContent ?? '');
    }
  }
  return found;
}

function drawnIn(element: Element) {
  const box = element.getBoundingClientRect();
  const grid = element.querySelector<HTMLElement>('[role="grid"]');
  const canvases = [...element.querySelectorAll('canvas')];
  return {
    box: { top: Math.round(box.top), bottom: Math.round(box.bottom), ...sizeOf(element)! },
    text: (element as HTMLElement).innerText,
    svg: [...element.querySelectorAll('svg text')].map((one) => one.textContent ?? ''),
    names: namesOf(element),
    cutTiles: cutTiles(element),
    cutTitle: isCut(element.querySelector('h2')),
    canvas: canvases.flatMap((canvas) => [...(written.get(canvas) ?? [])]),
    clipped: clipped(element),
    rows: grid ? rowsOf(grid) : [],
    scrolls: Boolean(grid && grid.scrollWidth > grid.clientWidth + 1),
    chart: sizeOf(element.querySelector('.uplot')),
    plot: sizeOf(element.querySelector('.u-over')),
  };
}

export type Drawn = ReturnType<typeof drawnIn>;

/** By the panel's id. */
export function drawn(id: number): Drawn | undefined {
  const element = document.querySelector(`[data-viz-panel-key="panel-${id}"]`);
  return element ? drawnIn(element) : undefined;
}
