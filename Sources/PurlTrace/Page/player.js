'use strict';
// Steps through a trace. Everything that a server has said is set as text, never as markup.

const trace = JSON.parse(document.getElementById('trace').textContent);
const steps = trace.steps;
const rowHeight = 26;
// Rows above and below those in sight, so that scrolling does not show a gap.
const spareRows = 12;
// Printing shows so many steps at most.
const printedRows = 3000;
// Browsers draw nothing that is some times as high, in points: more rows scroll in bigger steps.
const longestList = 2_000_000;
// No view shows more shaded times.
const mostShades = 300;
// Of more tasks or connections than these one is chosen by its number.
const longestMenu = 500;
// A pause of the transfer is played for so long at most.
const longestPause = 1500;
const speeds = [0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000];

// The positions of the steps that the filters let through, in order; and the place of the current one among them.
let shown = steps.map((_, position) => position);
let current = 0;
let playing = null;
let matches = [];
let zoom = 1;

// MARK: Elements

function element(name, properties, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties || {})) {
        if (key in made && !key.startsWith('aria')) made[key] = value;
        else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
}

const $ = id => document.getElementById(id);

function button(id, label, text, action) {
    return element('button', {id, type: 'button', 'aria-label': label, title: label, onclick: action}, text);
}

function choice(id, label, first, values, name) {
    if (values.length > longestMenu) {
        const field = element('input', {id, type: 'number', placeholder: first, oninput: applyFilters});
        return element('label', null, label, ' ', field);
    }
    const select = element('select', {id, onchange: applyFilters}, element('option', {value: ''}, first));
    for (const value of values) select.append(element('option', {value: String(value)}, `${name} ${value}`));
    return element('label', {hidden: values.length < 2}, label, ' ', select);
}

function build() {
    const speed = element('select', {id: 'speed'});
    for (const value of speeds) speed.append(element('option', {value: String(value)}, speedName(value)));
    const slider = element('input', {id: 'slider', type: 'range', min: '1', step: '1', 'aria-label': 'Event'});
    slider.oninput = () => { pause(); select(Number(slider.value) - 1); };
    const search = element('input', {id: 'search', type: 'search', placeholder: 'status, header, method …'});
    search.oninput = find;
    search.onkeydown = event => {
        if (event.key === 'Enter') { event.preventDefault(); nextMatch(event.shiftKey ? -1 : 1); }
        if (event.key === 'Escape') { search.value = ''; find(); $('list').focus(); }
    };
    $('summary').textContent = summary();
    document.body.append(
        element('section', {id: 'controls', 'aria-label': 'Controls'},
            element('div', {className: 'bar', role: 'toolbar', 'aria-label': 'Steps'},
                button('first', 'First event (Home)', '|◀', () => { pause(); select(0); }),
                button('back', 'Previous event (←)', '◀', () => { pause(); select(current - 1); }),
                button('play', 'Play (space)', '▶ play', toggle),
                button('on', 'Next event (→)', '▶', () => { pause(); select(current + 1); }),
                button('last', 'Last event (End)', '▶|', () => { pause(); select(shown.length - 1); }),
                slider,
                element('label', null, 'speed ', speed)),
            element('div', {className: 'bar', role: 'search'},
                element('label', null, 'search ', search),
                button('next', 'Next match (Enter)', '↓', () => nextMatch(1)),
                button('previous', 'Previous match (Shift-Enter)', '↑', () => nextMatch(-1)),
                element('span', {id: 'matches', role: 'status'}),
                choice('task', 'task', 'all tasks', trace.tasks, 'task'),
                choice('connection', 'connection', 'all connections', trace.connections, 'connection'),
                element('span', {className: 'zoom'}, 'time line ',
                    button('out', 'Zoom out (−)', '−', () => setZoom(zoom / 2)),
                    button('in', 'Zoom in (+)', '+', () => setZoom(zoom * 2)),
                    element('span', {id: 'zoom'}, '× 1'))),
            element('canvas', {id: 'line', 'aria-hidden': 'true'})),
        element('p', {id: 'printed'}),
        element('main', null,
            element('section', {id: 'film', 'aria-label': 'Lanes'},
                element('div', {id: 'heads'}),
                element('div', {id: 'list', role: 'listbox', tabIndex: 0, 'aria-label': 'Events'},
                    element('div', {id: 'space', role: 'presentation'}))),
            element('aside', {'aria-label': 'The event'},
                element('p', {id: 'now', role: 'status'}),
                element('dl', {id: 'facts'}),
                element('div', {id: 'disk'}),
                element('pre', {id: 'head', tabIndex: 0, 'aria-label': 'Head'}),
                element('pre', {id: 'bytes', tabIndex: 0, 'aria-label': 'First bytes'}))));
    // Within another page there is less room.
    if (window.parent !== window) document.body.classList.add('embedded');
    if (trace.program) buildProgram();
    $('list').onscroll = render;
    $('line').onclick = event => {
        const [from, to] = visibleTime();
        pause();
        selectTime(from + (to - from) * event.offsetX / $('line').clientWidth);
    };
}

function summary() {
    const parts = [trace.date, `${count(steps.length, 'step')}, ${duration(lastTime())}`];
    if (trace.tasks.length > 1) parts.push(`${trace.tasks.length} tasks`);
    if (trace.dropped) parts.push(`${count(trace.dropped, 'event')} had no room in the trace`);
    return parts.join(' · ');
}

// MARK: Words

function count(number, noun) { return `${number.toLocaleString('en-US')} ${noun}${number === 1 ? '' : 's'}`; }

function duration(nanoseconds) {
    const milliseconds = nanoseconds / 1e6;
    if (milliseconds >= 10000) return `${(milliseconds / 1000).toFixed(1)} s`;
    return `${milliseconds.toFixed(milliseconds < 10 ? 3 : 1)} ms`;
}

// A text with a sign for each character that is not seen, or that changes the direction of the others.
function visible(text) {
    return text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '\ufffd');
}

function speedName(speed) {
    if (speed === 1) return 'as it was';
    return speed < 1 ? `${Math.round(1 / speed).toLocaleString('en-US')} × slower` : `${speed} × faster`;
}

function times(step) { return step.d ? `${duration(step.t)} to ${duration(step.t + step.d)}` : duration(step.t); }

function lanesOf(step) {
    const from = trace.lanes[step.l];
    return step.a ? `${from} → ${trace.lanes[step.a[1]]}` : from;
}

function lastTime() { return steps.reduce((last, step) => Math.max(last, step.t + (step.d || 0)), 0); }

// MARK: The current step

function select(place, quietly) {
    $('slider').disabled = !shown.length;
    if (!shown.length) {
        $('slider').setAttribute('aria-valuetext', 'no event');
        show(null);
        render();
        drawLine();
        return;
    }
    current = Math.min(Math.max(place, 0), shown.length - 1);
    const position = shown[current];
    $('slider').max = String(shown.length);
    $('slider').value = String(current + 1);
    $('slider').setAttribute('aria-valuetext', `${current + 1} of ${shown.length}: ${visible(steps[position].w)}`);
    show(position);
    scrollTo(current);
    render();
    drawLine();
    if (!quietly) remember(position);
}

// A link to the page can name a step.
function remember(position) {
    try { history.replaceState(null, '', `#${position + 1}`); } catch { /* not where the page has no address */ }
}

function selectPosition(position) {
    let place = shown.findIndex(candidate => candidate >= position);
    if (place < 0) place = shown.length - 1;
    select(place);
}

function selectTime(time) {
    let low = 0, high = shown.length - 1;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (steps[shown[middle]].t <= time) low = middle; else high = middle - 1;
    }
    select(low);
}

function show(position) {
    const step = position === null ? null : steps[position];
    $('now').textContent = step ? visible(step.w) : steps.length ? 'No event passes the filters.' : 'There is no event.';
    $('facts').replaceChildren();
    $('disk').replaceChildren();
    for (const id of ['head', 'bytes']) { $(id).textContent = ''; $(id).hidden = true; }
    if (trace.program) unmarkProgram();
    if (!step) return;
    fact('step', `${position + 1} of ${steps.length}`);
    fact('time', times(step));
    fact('where', lanesOf(step));
    if (step.n) fact('events', step.n.toLocaleString('en-US'));
    if (step.k !== undefined) fact('task', step.k);
    if (step.x !== undefined) fact('exchange', step.x);
    if (step.c !== undefined) fact('connection', step.c);
    if (trace.program) showProgram(position);
    if (step.s) showState(step.s);
    if (step.h) { $('head').hidden = false; $('head').textContent = visible(step.h); }
    if (step.f) { $('bytes').hidden = false; $('bytes').textContent = dump(step.f); }
}

function fact(name, value) {
    $('facts').append(element('dt', null, name), element('dd', null, String(value)));
}

function showState([phase, sent, received, written, recorded]) {
    fact('the task is', trace.phases[phase]);
    if (sent) fact('sent so far', count(sent, 'byte'));
    if (received) fact('received so far', count(received, 'byte'));
    if (written < 0) return;
    fact('written', count(written, 'byte'));
    fact('in the record', recorded < 0 ? 'nothing' : count(recorded, 'byte'));
    const most = Math.max(written, recorded, received, 1);
    const meter = (value, name) => {
        const bar = element('div', {className: 'meter'}, element('i', {className: name}));
        bar.firstChild.style.width = `${100 * Math.max(value, 0) / most}%`;
        return bar;
    };
    $('disk').append(meter(written, 'written'), meter(recorded, 'recorded'));
}

// Sixteen bytes to a line, in hexadecimal and as text.
function dump(base64) {
    const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0));
    const lines = [];
    for (let start = 0; start < bytes.length; start += 16) {
        const line = [...bytes.subarray(start, start + 16)];
        const hexadecimal = line.map(byte => byte.toString(16).padStart(2, '0')).join(' ').padEnd(47);
        lines.push(`${hexadecimal}  ${line.map(byte => byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·').join('')}`);
    }
    return lines.join('\n');
}

// MARK: The program

// The elements of its lines, by file.
let codeLines = [];

function buildProgram() {
    const pane = element('section', {id: 'program', tabIndex: 0, 'aria-label': 'The program'});
    codeLines = trace.program.map(file => {
        pane.append(element('h2', null, file.name));
        return file.lines.map((text, number) => {
            const code = text.trimStart();
            const line = element('div', {className: 'code'}, code || ' ');
            if (code.startsWith('//')) line.classList.add('comment');
            line.dataset.number = String(file.first + number);
            // What is too long continues further to the right.
            line.style.paddingLeft = `${text.length - code.length + 9}ch`;
            line.style.textIndent = '-4ch';
            pane.append(line);
            return line;
        });
    });
    document.body.classList.add('with-program');
    document.querySelector('main').append(pane);
}

function unmarkProgram() {
    for (const line of $('program').querySelectorAll('.runs, .may, .ran')) line.classList.remove('runs', 'may', 'ran');
}

function showProgram(position) {
    // Between the events of the program the last one stays in sight.
    let last = position;
    while (last >= 0 && !steps[last].p) last--;
    if (last < 0) return;
    const places = steps[last].p;
    const name = last < position ? 'ran' : places.length > 1 ? 'may' : 'runs';
    for (const [file, from, to] of places) {
        for (let line = from; line <= to; line++) codeLines[file][line].classList.add(name);
    }
    if (name !== 'ran') fact('in the program', places.map(placeName).join(' or '));
    const pane = $('program');
    const [file, from, to] = places[0];
    const top = codeLines[file][from].offsetTop;
    const end = codeLines[file][to].offsetTop + codeLines[file][to].offsetHeight;
    if (top < pane.scrollTop || end > pane.scrollTop + pane.clientHeight) {
        pane.scrollTop = Math.max(0, Math.min(top - 30, top - (pane.clientHeight - (end - top)) / 2));
    }
}

function placeName([file, from, to]) {
    const {name, first} = trace.program[file];
    return from === to ? `${name}, line ${first + from}` : `${name}, lines ${first + from} to ${first + to}`;
}

// MARK: The lanes

function laneAt(lane) { return 100 * (lane + 0.5) / trace.lanes.length; }

function buildLanes() {
    for (let lane = 0; lane < trace.lanes.length; lane++) {
        const head = element('span', null, trace.lanes[lane]);
        head.style.left = `calc(var(--gutter) + (100% - var(--gutter)) * ${laneAt(lane) / 100})`;
        $('heads').append(head);
    }
    $('film').style.setProperty('--lanes', String(trace.lanes.length));
}

// The shaded times by their beginnings, and how far each of them and all before it reach, so that a view need not look at all.
const shades = trace.shades.toSorted((one, other) => one.from - other.from);
let farthest = -1;
const reaches = shades.map(shade => farthest = Math.max(farthest, shade.to));

// The shaded times that some steps are in: the last to begin, where there are too many.
function shadesBetween(first, last) {
    let place = 0, end = shades.length;
    while (place < end) {
        const middle = (place + end) >> 1;
        if (shades[middle].from <= last) place = middle + 1; else end = middle;
    }
    const found = [];
    while (--place >= 0 && reaches[place] >= first && found.length < mostShades) {
        if (shades[place].to >= first) found.push(shades[place]);
    }
    return found.reverse();
}

// The place among the shown steps of the first that is not before a position.
function placeOf(position) {
    let low = 0, high = shown.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (shown[middle] < position) low = middle + 1; else high = middle;
    }
    return low;
}

function render() {
    const list = $('list');
    // The names stand above their lanes, which end where the scroll bar begins.
    $('heads').style.borderRightWidth = `${list.offsetWidth - list.clientWidth}px`;
    const top = list.scrollTop * stretch();
    const first = Math.max(0, Math.floor(top / rowHeight) - spareRows);
    const last = Math.min(shown.length, Math.ceil((top + list.clientHeight) / rowHeight) + spareRows);
    renderRows(first, last, shown.length, top - list.scrollTop);
}

function listHeight(count) { return Math.min(count * rowHeight, longestList); }

// By how many points the rows move where the list is scrolled by one.
function stretch() {
    const view = $('list').clientHeight;
    return shown.length * rowHeight > longestList ? (shown.length * rowHeight - view) / (longestList - view) : 1;
}

// Paper gets the rows that there is room for, and no space for others.
function renderForPrint() {
    const last = Math.min(shown.length, printedRows);
    $('printed').textContent = last < shown.length
        ? `The first ${count(last, 'step')} of ${shown.length.toLocaleString('en-US')}: filters choose others.` : '';
    renderRows(0, last, last, 0);
}

// The rows of some places, in a space for as many as `size`, moved upwards by some points.
function renderRows(first, last, size, above) {
    const space = $('space');
    space.style.height = `${listHeight(size)}px`;
    const parts = trace.lanes.map((_, lane) => {
        const line = element('div', {className: 'lane', role: 'presentation'});
        line.style.left = laneLeft(lane);
        return line;
    });
    if (first < last) {
        for (const shade of shadesBetween(shown[first], shown[last - 1])) {
            const [from, to] = [placeOf(shade.from), Math.min(placeOf(shade.to), size)];
            const part = element('div', {className: `shade ${shade.k}`, title: shade.title, role: 'presentation'});
            part.style.left = laneLeft(shade.l);
            part.style.top = `${from * rowHeight + rowHeight / 2 - above}px`;
            part.style.height = `${Math.max(to - from, 0.4) * rowHeight}px`;
            parts.push(part);
        }
    }
    for (let place = first; place < last; place++) parts.push(row(place, above));
    space.replaceChildren(...parts);
    $('list').setAttribute('aria-activedescendant', shown.length ? `step-${shown[current] + 1}` : '');
}

function laneLeft(lane) { return `calc(var(--gutter) + (100% - var(--gutter)) * ${laneAt(lane) / 100})`; }

function row(place, above) {
    const position = shown[place];
    const step = steps[position];
    const made = element('div', {
        id: `step-${position + 1}`, role: 'option', className: `row ${step.r || 'quiet'}`,
        'aria-posinset': String(place + 1), 'aria-setsize': String(shown.length),
        'aria-selected': String(place === current), 'aria-label': `${duration(step.t)}, ${lanesOf(step)}: ${visible(step.w)}`,
        onclick: () => { pause(); select(place); },
    });
    if (matches.length && isMatch(position)) made.classList.add('match');
    made.style.top = `${place * rowHeight - above}px`;
    made.append(element('time', null, duration(step.t)));
    const lanes = element('div', {className: 'lanes'});
    const label = element('span', {className: 'label', title: visible(step.w)}, visible(step.b || step.w));
    if (step.a) {
        const [from, to, isCut] = step.a;
        const arrow = element('div', {className: `arrow ${to > from ? 'right' : 'left'}${isCut ? ' cut' : ''}`});
        arrow.style.left = `${Math.min(laneAt(from), laneAt(to))}%`;
        arrow.style.width = `${Math.abs(laneAt(to) - laneAt(from))}%`;
        arrow.append(label);
        lanes.append(arrow);
    } else {
        const mark = element('div', {className: 'mark'}, element('i'), label);
        // The last lane's words stand on its left.
        if (step.l === trace.lanes.length - 1 && step.l > 0) {
            mark.classList.add('last');
            mark.style.right = `${100 - laneAt(step.l)}%`;
        } else {
            mark.style.left = `${laneAt(step.l)}%`;
            mark.style.maxWidth = `calc(${100 - laneAt(step.l)}% - 4px)`;
        }
        lanes.append(mark);
    }
    made.append(lanes);
    return made;
}

function scrollTo(place) {
    const list = $('list');
    // It can scroll as far as there is space.
    $('space').style.height = `${listHeight(shown.length)}px`;
    const top = place * rowHeight;
    const now = list.scrollTop * stretch();
    if (top < now + rowHeight) list.scrollTop = Math.max(0, top - 2 * rowHeight) / stretch();
    else if (top > now + list.clientHeight - 3 * rowHeight) {
        list.scrollTop = (top - list.clientHeight + 4 * rowHeight) / stretch();
    }
    // In a narrow window the lanes scroll sideways.
    const film = $('film');
    const lane = laneAt(steps[shown[place]].l) / 100 * list.scrollWidth;
    if (film.scrollWidth > film.clientWidth) film.scrollLeft = lane - film.clientWidth / 2;
}

// MARK: The time line

// The time that the line shows: all of it, or a part, which stays until the current step is outside of it.
let part = {from: 0, span: 0};
function visibleTime() {
    const whole = Math.max(lastTimeOnce(), 1);
    const span = whole / zoom;
    const now = shown.length ? steps[shown[current]].t : 0;
    if (part.span !== span || now < part.from || now > part.from + span) {
        part = {from: Math.min(Math.max(now - span / 2, 0), whole - span), span};
    }
    return [part.from, part.from + span];
}

let wholeTime = null;
function lastTimeOnce() { return wholeTime === null ? wholeTime = lastTime() : wholeTime; }

// The bars of all steps are drawn when they change; a step moves the cursor alone.
const bars = {canvas: document.createElement('canvas'), key: null};
const darkScheme = matchMedia('(prefers-color-scheme: dark)');

function drawLine() {
    const canvas = $('line');
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    const scale = window.devicePixelRatio || 1;
    const [from, to] = visibleTime();
    const at = time => (time - from) / (to - from) * (width - 2) + 1;
    const key = [width, height, scale, from, to, $('task').value, $('connection').value, darkScheme.matches].join(' ');
    if (bars.key !== key) {
        bars.key = key;
        bars.canvas.width = width * scale;
        bars.canvas.height = height * scale;
        drawBars(bars.canvas.getContext('2d'), scale, width, height, from, to, at);
    }
    canvas.width = bars.canvas.width;
    canvas.height = bars.canvas.height;
    const context = canvas.getContext('2d');
    context.drawImage(bars.canvas, 0, 0);
    if (!shown.length) return;
    context.scale(scale, scale);
    context.fillStyle = getComputedStyle(document.body).getPropertyValue('--ink');
    context.fillRect(Math.round(at(steps[shown[current]].t)) - 1, 0, 2, height - 14);
}

const tones = ['plain', 'data', 'answer', 'failure', 'decision', 'quiet'];

function drawBars(context, scale, width, height, from, to, at) {
    context.scale(scale, scale);
    const colours = getComputedStyle(document.body);
    // One line for each column and tone, however many steps there are.
    const drawn = new Set();
    for (const position of shown) {
        const step = steps[position];
        if (step.t + (step.d || 0) < from || step.t > to) continue;
        const tone = step.r || 'quiet';
        const x = Math.round(at(Math.max(step.t, from)));
        const end = Math.round(at(Math.min(step.t + (step.d || 0), to)));
        const top = 6 + step.l * (height - 22) / trace.lanes.length;
        const key = ((x * 65536 + end) * 16 + step.l) * 16 + tones.indexOf(tone);
        if (drawn.has(key)) continue;
        drawn.add(key);
        context.fillStyle = colours.getPropertyValue(`--${tone}`);
        context.fillRect(x, top, Math.max(end - x, 1.5), (height - 22) / trace.lanes.length - 1);
    }
    context.fillStyle = colours.getPropertyValue('--faint');
    context.font = '11px system-ui, sans-serif';
    context.fillText(duration(from), 2, height - 4);
    const end = duration(to);
    context.fillText(end, width - context.measureText(end).width - 2, height - 4);
}

function setZoom(value) {
    zoom = Math.min(Math.max(value, 1), 65536);
    $('zoom').textContent = `× ${zoom}`;
    drawLine();
}

// MARK: Search and filters

function isMatch(position) {
    const text = $('search').value.trim().toLowerCase();
    if (!text) return false;
    const step = steps[position];
    return `${step.w}\n${step.b || ''}\n${step.h || ''}`.toLowerCase().includes(text);
}

function find() {
    matches = $('search').value.trim() ? shown.filter(isMatch) : [];
    const isAsked = $('search').value.trim() !== '';
    $('matches').textContent = isAsked ? `${matches.length} match${matches.length === 1 ? '' : 'es'}` : '';
    render();
}

function nextMatch(direction) {
    if (!matches.length) return;
    const now = shown[current];
    const next = direction > 0
        ? matches.find(position => position > now) ?? matches[0]
        : matches.findLast(position => position < now) ?? matches[matches.length - 1];
    pause();
    select(placeOf(next));
}

function applyFilters() {
    pause();
    const position = shown[current] ?? 0;
    const [task, connection] = [$('task').value, $('connection').value];
    shown = [];
    steps.forEach((step, position) => {
        if (task && String(step.k) !== task) return;
        if (connection && String(step.c) !== connection) return;
        shown.push(position);
    });
    find();
    selectPosition(position);
}

// MARK: Playing

function toggle() { if (playing) pause(); else play(); }

function play() {
    if (!shown.length) return;
    if (current === shown.length - 1) select(0, true);
    playing = {time: steps[shown[current]].t, last: performance.now()};
    $('play').textContent = '⏸ pause';
    $('play').setAttribute('aria-label', 'Pause (space)');
    requestAnimationFrame(frame);
}

function pause() {
    if (!playing) return;
    playing = null;
    $('play').textContent = '▶ play';
    $('play').setAttribute('aria-label', 'Play (space)');
    if (shown.length) remember(shown[current]);
}

function frame(now) {
    if (!playing) return;
    const passed = Math.max(0, now - playing.last);
    playing.last = now;
    // It may be changed while the transfer is played.
    const speed = Number($('speed').value);
    playing.time += passed * 1e6 * speed;
    let place = current;
    while (place + 1 < shown.length && steps[shown[place + 1]].t <= playing.time) place++;
    if (place + 1 < shown.length) {
        // A long pause is shortened.
        const wait = (steps[shown[place + 1]].t - playing.time) / 1e6 / speed;
        if (wait > longestPause) playing.time = steps[shown[place + 1]].t - longestPause * 1e6 * speed;
    }
    if (place !== current) select(place, true);
    if (place === shown.length - 1) pause(); else requestAnimationFrame(frame);
}

// The speed at which the whole takes some twenty seconds.
function usualSpeed() {
    const wanted = lastTimeOnce() / 1e9 / 20;
    return speeds.reduce((best, speed) =>
        Math.abs(Math.log(speed / wanted)) < Math.abs(Math.log(best / wanted)) ? speed : best, 1);
}

// MARK: Keys, printing, the start

const isField = target => ['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName);

document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // A field has keys of its own, and a button its space bar.
    if (isField(event.target) && event.target.id !== 'slider') return;
    if (event.key === ' ' && event.target.tagName === 'BUTTON') return;
    const actions = {
        ArrowLeft: () => select(current - 1), ArrowRight: () => select(current + 1),
        ArrowUp: () => select(current - 1), ArrowDown: () => select(current + 1),
        PageUp: () => select(current - 10), PageDown: () => select(current + 10),
        Home: () => select(0), End: () => select(shown.length - 1),
        ' ': null, '/': () => $('search').focus(), '+': () => setZoom(zoom * 2), '-': () => setZoom(zoom / 2),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    if (event.key === ' ') return toggle();
    if (!['/', '+', '-'].includes(event.key)) pause();
    actions[event.key]();
});

window.addEventListener('resize', () => {
    if (shown.length) { show(shown[current]); scrollTo(current); }
    render();
    drawLine();
});
window.addEventListener('beforeprint', renderForPrint);
window.addEventListener('afterprint', render);
window.addEventListener('hashchange', () => selectNamed());
darkScheme.addEventListener('change', drawLine);

function selectNamed() {
    const number = Number(location.hash.slice(1));
    if (number >= 1 && number <= steps.length) selectPosition(number - 1);
    else select(0, true);
}

build();
buildLanes();
$('speed').value = String(usualSpeed());
selectNamed();
