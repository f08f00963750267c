// What pages do beyond what the server draws: they tell whether the server is heard,
// ask again when the stream is not to be had, count ages on, and draw charts that can
// be read point by point. Everything can be read without it.
'use strict';

(() => {
  const QUIET = 12000; // a stream that is silent for so long is lost
  const ASK_EVERY = 4000;
  const live = document.getElementById('live');
  const contact = document.getElementById('contact');
  let heard = Date.now();
  let lost = false;
  let asked = 0;

  // --- contact with the server

  function clock(ms) {
    return new Date(ms).toISOString().slice(11, 19);
  }

  function span(ms) {
    const seconds = Math.floor(ms / 1000);
    if (seconds < 100) return seconds + ' s';
    if (seconds < 6000) return Math.floor(seconds / 60) + ' min';
    if (seconds < 172800) return Math.floor(seconds / 3600) + ' h';
    return Math.floor(seconds / 86400) + ' d';
  }

  function ago(ms) {
    const past = Date.now() - ms;
    return past < 1000 ? 'now' : span(past) + ' ago';
  }

  function tell() {
    if (!contact) return;
    const text = lost
      ? 'No contact with the server: what you see is of ' + clock(heard) + ' UTC,'
      : 'Live';
    if (contact.textContent !== text) contact.textContent = text;
    contact.classList.toggle('live', !lost);
    contact.parentElement.classList.toggle('lost', lost);
    document.getElementById('contact-age').textContent = lost ? ago(heard) + '.' : '';
  }

  function hear() {
    heard = Date.now();
    lost = false;
    tell();
    refresh();
  }

  // The stream was refused, or has ended and does not come back: ask for the part.
  async function ask() {
    asked = Date.now();
    try {
      const answer = await fetch(live.dataset.part, { headers: { accept: 'text/html' } });
      if (!answer.ok && answer.status < 500) return;
      await htmx.swap({ target: live, swap: 'innerMorph', text: await answer.text(), sourceElement: live });
      hear();
    } catch {
      // Nobody there: the next time, perhaps.
    }
  }

  function tick() {
    for (const time of document.querySelectorAll('time[data-ago]')) {
      const text = ago(Number(time.dataset.ago));
      if (time.textContent !== text) time.textContent = text;
    }
    if (!live || document.hidden) return;
    const now = Date.now();
    if (now - heard > QUIET && !lost) lost = true;
    if (now - heard > ASK_EVERY && now - asked > ASK_EVERY) ask();
    tell();
  }

  if (live) {
    live.addEventListener('htmx:sse:after:message', hear);
    live.addEventListener('htmx:sse:error', () => {
      if (Date.now() - heard > ASK_EVERY) lost = true;
      tell();
    });
    document.addEventListener('visibilitychange', () => {
      // A tab that comes back has heard nothing meanwhile, and nothing is wrong.
      if (!document.hidden) {
        heard = Date.now();
        asked = Date.now();
        ask();
      }
    });
  }

  // --- charts

  const charts = new Map();

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  const LINES = { hot: '--bad', mid: '--link', cold: '--muted' };

  function options(plot, names) {
    const axis = () => ({
      stroke: () => colour('--muted'),
      grid: { stroke: () => colour('--soft'), width: 1 },
      ticks: { stroke: () => colour('--line'), width: 1 },
      font: '11px system-ui, sans-serif',
    });
    return {
      width: plot.clientWidth,
      height: 190,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
      axes: [
        { ...axis(), values: (_, splits) => splits.map((at) => clock(at * 1000)), space: 70 },
        { ...axis(), size: 48 },
      ],
      series: [
        { value: (chart, at) => clock((at ?? chart.data[0].at(-1)) * 1000), label: 'UTC' },
        ...names.map(([label, line]) => ({
          label,
          stroke: () => colour(LINES[line]),
          width: 1.5,
          points: { show: false },
          // Where nobody points, the last.
          value: (chart, value, index) => Number((value ?? chart.data[index].at(-1)).toPrecision(4)).toString(),
        })),
      ],
    };
  }

  function draw(plot) {
    const source = document.getElementById(plot.dataset.from);
    if (!source || typeof uPlot === 'undefined') return;
    const data = JSON.parse(source.dataset.points);
    const drawn = charts.get(plot);
    if (drawn) {
      drawn.setData(data);
      return;
    }
    plot.replaceChildren();
    plot.classList.add('drawn');
    charts.set(plot, new uPlot(options(plot, JSON.parse(source.dataset.names)), data, plot));
  }

  function refresh() {
    for (const plot of charts.keys()) {
      if (!plot.isConnected) {
        charts.get(plot).destroy();
        charts.delete(plot);
      }
    }
    document.querySelectorAll('.plot').forEach(draw);
  }

  addEventListener('resize', () => {
    for (const [plot, chart] of charts) chart.setSize({ width: plot.clientWidth, height: 190 });
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const chart of charts.values()) chart.redraw(false, true);
  });

  // --- the walk-through: steps without a new page, by key, and by themselves

  let playing = 0;

  async function step(address) {
    clearTimeout(playing);
    try {
      const answer = await fetch(address, { headers: { accept: 'text/html' } });
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const next = page.getElementById('walk');
      if (!answer.ok || !next) throw new Error(String(answer.status));
      await htmx.swap({ target: document.getElementById('walk'), swap: 'outerMorph', text: next.outerHTML, sourceElement: document.body });
      history.replaceState(null, '', address);
      play();
    } catch {
      location.assign(address);
    }
  }

  function play() {
    clearTimeout(playing);
    const next = document.getElementById('walk')?.dataset.play;
    if (next) playing = setTimeout(() => step(next), 1100);
  }

  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[data-step]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    step(link.getAttribute('href'));
  });
  document.addEventListener('keydown', (event) => {
    if (event.target.closest('input, select, textarea') || event.altKey || event.ctrlKey || event.metaKey) return;
    const link = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
    if (!link) return;
    event.preventDefault();
    step(link.getAttribute('href'));
  });

  setInterval(tick, 1000);
  tell();
  refresh();
  play();
})();
