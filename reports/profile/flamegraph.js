/* The page of a flame graph (flamegraph.c): draws from the data that stand in it. What is shown is kept in the
 * address: #zoom=FRAME&span=FROM-TO&search=TEXT&upwards&absolute, so that links and "back" work. */
(function () {
'use strict';
var ROW = 18, DRAWN_MAX = 6000, NS = 'http://www.w3.org/2000/svg';
var KINDS = ['java', 'native', 'class', 'state', 'thread'], COLOURS = 'jncst';
var data = JSON.parse(document.getElementById('data').textContent);
function at(id) { return document.getElementById(id); }
var svg = at('flame'), now = at('now'), find = at('find'), found = at('found'), reset = at('reset'),
    flip = at('flip'), narrow = at('narrow'), heat = at('heat'), whole = at('whole'), mode = at('mode');
var compared = data.before !== undefined;

/* --- frames: arrays by number, callers first, a frame's callees right behind it ---------------- */

var STRIDE = compared ? 4 : 3, count = data.frames.length / STRIDE;
var name = new Int32Array(count), depth = new Int32Array(count), parent = new Int32Array(count),
    end = new Int32Array(count), before = compared ? new Float64Array(count) : null,
    own = new Float64Array(count), total = new Float64Array(count), left = new Float64Array(count);
(function () {
    var way = [], level = 0;
    for (var i = 0; i < count; i++) {
        level += data.frames[i * STRIDE];
        depth[i] = level;
        name[i] = data.frames[i * STRIDE + 1];
        if (compared) before[i] = data.frames[i * STRIDE + 3];
        parent[i] = level > 0 ? way[level - 1] : 0;
        way[level] = i;
    }
    for (i = count - 1; i >= 0; i--) {
        if (end[i] === 0) end[i] = i + 1;
        if (i > 0 && end[i] > end[parent[i]]) end[parent[i]] = end[i];
    }
})();
function text(i) { return data.names[name[i] * 2]; }
function kind(i) { return data.names[name[i] * 2 + 1]; }

/* From the samples that end in each frame: of the whole, or of a span of time. */
function sum() {
    var i;
    if (span) {
        own.fill(0);
        for (i = span[0]; i <= span[1]; i++) each(i, function (frame, samples) { own[frame] += samples; });
    } else {
        for (i = 0; i < count; i++) own[i] = data.frames[i * STRIDE + 2];
    }
    total.set(own);
    for (i = count - 1; i > 0; i--) total[parent[i]] += total[i];
    var next = new Float64Array(count);
    for (i = 1; i < count; i++) {
        left[i] = left[parent[i]] + next[parent[i]];
        next[parent[i]] += total[i];
    }
}
function each(slot, take) {
    if (data.slots[slot] === '') return;
    var frame = 0;
    data.slots[slot].split(' ').forEach(function (word) {
        var star = word.indexOf('*');
        frame += parseInt(word, 36);
        take(frame, star < 0 ? 1 : parseInt(word.slice(star + 1), 36));
    });
}

/* --- words ------------------------------------------------------------------------------------ */

function grouped(number) { return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ' '); }
function amount(samples) {
    if (!data.bytes) return grouped(samples);
    var units = ['B', 'KB', 'MB', 'GB', 'TB'], unit = 0;
    while (samples >= 1023.5 && unit < 4) { samples /= 1024; unit++; }
    return (unit === 0 ? Math.round(samples) : samples.toFixed(1)) + ' ' + units[unit];
}
function share(samples) { return total[0] > 0 ? 100 * samples / total[0] : 0; }
function points(i) {
    var scale = absolute || data.before === 0 || total[0] === 0 ? 1 : total[0] / data.before;
    return share(total[i] - before[i] * scale);
}
function about(i) {
    var words = amount(total[i]) + (data.bytes ? '' : total[i] === 1 ? ' sample' : ' samples') + ', ' +
        share(total[i]).toFixed(2) + '%';
    if (own[i] > 0 && own[i] < total[i]) words += '; itself ' + amount(own[i]);
    if (compared) {
        var more = points(i);
        words += '; before ' + amount(before[i]) + ', ' + (more < 0 ? '' : '+') + more.toFixed(2) + ' points';
    }
    return kind(i) !== 0 ? words + '; ' + KINDS[kind(i)] : words;
}
function duration(ms) {
    return ms < 60000 ? (ms / 1000).toFixed(ms % 1000 ? 2 : 0) + ' s'
        : Math.floor(ms / 60000) + ' min ' + Math.round(ms % 60000 / 1000) + ' s';
}

/* --- the picture ------------------------------------------------------------------------------ */

var zoomed = 0, upwards = false, absolute = data.absolute === true, span = null, hits = null, shown = new Map(), reached = 0;
function colour(i) {
    if (compared) {
        var more = points(i), size = Math.abs(more);
        return size < 0.1 ? 'e0' : (more > 0 ? 'm' : 'l') + (size < 0.5 ? 1 : size < 2 ? 2 : size < 10 ? 3 : 4);
    }
    if (i === 0) return 'a';
    var shade = 0, letters = text(i);
    for (var k = 0; k < letters.length; k++) shade = Math.imul(shade, 31) + letters.charCodeAt(k) | 0;
    return COLOURS[kind(i)] + (shade >>> 0) % 3;
}
/* Where the whole name has no room, that of the class and its method says more than the package's. */
function label_of(i, letters) {
    var whole = text(i);
    return (whole.length <= letters ? whole : whole.replace(/^(?:[a-z0-9_]+[.\/])+(?=[A-Z$])/, '')).slice(0, letters + 1);
}
/* Frames of the zoomed one that are so many samples wide, and those above it. */
function choose(least) {
    var chosen = [], i;
    for (i = zoomed; i !== 0; ) { i = parent[i]; chosen.unshift(i); }
    for (i = zoomed; i < end[zoomed]; ) {
        if (total[i] > 0 && total[i] >= least) chosen.push(i++);
        else i = end[i];
    }
    return chosen;
}
function draw() {
    var all = total[zoomed] || 1, wide = svg.clientWidth || 1000, least = all / wide / 2, chosen = choose(least);
    while (chosen.length > DRAWN_MAX) { least *= 1.5; chosen = choose(least); }
    var rows = 0, parts = document.createDocumentFragment(), hidden = 0;
    chosen.forEach(function (i) { rows = Math.max(rows, depth[i] + 1); });
    shown = new Map();
    chosen.forEach(function (i) {
        var above = i < zoomed, e = document.createElementNS(NS, 'svg'), rect = document.createElementNS(NS, 'rect');
        var x = above ? 0 : (left[i] - left[zoomed]) / all, w = above ? 1 : total[i] / all;
        e.setAttribute('class', 'f' + (above ? ' above' : '') + (hits && hits[name[i]] ? ' hit' : ''));
        e.setAttribute('x', x * 100 + '%');
        e.setAttribute('y', upwards ? (rows - 1 - depth[i]) * ROW : depth[i] * ROW);
        e.setAttribute('width', w * 100 + '%');
        e.setAttribute('height', ROW);
        e.setAttribute('data-i', i);
        e.setAttribute('role', 'button');
        e.setAttribute('aria-label', text(i) + ', ' + about(i));
        e.setAttribute('tabindex', '-1');
        rect.setAttribute('class', colour(i));
        rect.setAttribute('width', '100%');
        rect.setAttribute('height', '100%');
        e.appendChild(rect);
        if (w * wide >= 24) {
            var label = document.createElementNS(NS, 'text');
            label.setAttribute('x', 3);
            label.setAttribute('y', 12);
            label.textContent = label_of(i, Math.ceil((w * wide - 4) / 6));
            e.appendChild(label);
        }
        shown.set(i, e);
        parts.appendChild(e);
    });
    for (var i = zoomed; i < end[zoomed]; i++) hidden += total[i] > 0 && total[i] < least;
    svg.setAttribute('height', Math.max(rows, 1) * ROW);
    svg.replaceChildren(parts);
    reach(shown.has(reached) ? reached : zoomed, false);
    narrow.textContent = hidden > 0 ? grouped(hidden) + (hidden === 1 ? ' frame is' : ' frames are') +
        ' too narrow to be drawn here: zoom in to see them.' : '';
    if (span && data.least > 1) narrow.textContent += ' In a span, places with fewer than ' + amount(data.least) +
        (data.bytes ? '' : ' samples') + ' in all count as their callers.';
    if (total[0] === 0) narrow.textContent = 'There are no samples in this span.';
    reset.disabled = zoomed === 0;
    flip.textContent = upwards ? 'Callers above' : 'Callers below';
    if (mode) mode.textContent = absolute ? 'Compare shares' : 'Compare samples';
    if (mode) at('by').textContent = absolute ? 'by samples' : 'by shares';
    ['by-samples', 'by-shares'].forEach(function (id) {
        if (at(id)) at(id).hidden = absolute !== (id === 'by-samples');
    });
}
/* One frame is reached by the tabulator key, the others from it. */
function reach(i, focus) {
    if (shown.has(reached)) shown.get(reached).setAttribute('tabindex', '-1');
    reached = i;
    shown.get(i).setAttribute('tabindex', '0');
    if (focus) shown.get(i).focus();
}
function frame_of(event) {
    var e = event.target.closest ? event.target.closest('.f') : null;
    return e ? +e.getAttribute('data-i') : -1;
}
function tell(event) {
    var i = frame_of(event);
    if (i < 0) return;
    now.textContent = text(i) + '  ' + about(i);
    var e = shown.get(i);
    if (e.querySelector('title')) return;
    var title = document.createElementNS(NS, 'title');
    title.textContent = text(i) + '\n' + about(i);
    e.insertBefore(title, e.firstChild);
}
function neighbour(i, key) {
    var best = -1, middle = left[i] + total[i] / 2;
    if (upwards && key === 'ArrowUp') key = 'ArrowDown';
    else if (upwards && key === 'ArrowDown') key = 'ArrowUp';
    shown.forEach(function (e, k) {
        if (k === i) return;
        if (key === 'ArrowUp' && depth[k] === depth[i] - 1 && left[k] <= middle && left[k] + total[k] >= middle) best = k;
        if (key === 'ArrowDown' && parent[k] === i && k !== 0 && (best < 0 || total[k] > total[best])) best = k;
        if (key === 'ArrowLeft' && depth[k] === depth[i] && k < i && (best < 0 || k > best)) best = k;
        if (key === 'ArrowRight' && depth[k] === depth[i] && k > i && (best < 0 || k < best)) best = k;
    });
    return best;
}

/* --- search ----------------------------------------------------------------------------------- */

function search() {
    var wanted = find.value.toLowerCase(), frames = 0, samples = 0, methods = new Set(), until = 0;
    hits = null;
    found.textContent = '';
    if (wanted === '') return;
    hits = new Uint8Array(data.names.length / 2);
    for (var n = 0; n < hits.length; n++) hits[n] = data.names[n * 2].toLowerCase().indexOf(wanted) >= 0 ? 1 : 0;
    for (var i = 1; i < count; i++) {
        if (!hits[name[i]] || total[i] === 0) continue;
        frames++;
        methods.add(name[i]);
        if (i >= until) { samples += total[i]; until = end[i]; } /* one below another counts once */
    }
    found.textContent = frames + (frames === 1 ? ' frame, ' : ' frames, ') + methods.size +
        (methods.size === 1 ? ' name, ' : ' names, ') + share(samples).toFixed(2) + ' % of the ' + (data.bytes ? 'bytes' : 'samples');
}

/* --- samples over time: a column is so many slots, from above --------------------------------- */

var ROWS = {50: 20, 100: 10, 500: 20, 1000: 10, 5000: 12, 10000: 12, 60000: 10, 300000: 12, 600000: 6, 3600000: 24};
var rows = ROWS[data.slot] || 4, columns = data.slots ? Math.ceil(data.slots.length / rows) : 0, CELL = 6, sums = [], most = 0;
var picking = null;
if (data.slots) data.slots.forEach(function (cells, slot) {
    var all = 0;
    each(slot, function (frame, samples) { all += samples; });
    sums.push(all);
    most = Math.max(most, all);
});
function column_width() { return Math.min(40, heat.clientWidth / columns); }
function draw_heat() {
    var ratio = window.devicePixelRatio || 1, style = getComputedStyle(heat), high = rows * CELL;
    var wide = column_width();
    heat.width = Math.round(heat.clientWidth * ratio);
    heat.height = Math.round(high * ratio);
    var pen = heat.getContext('2d');
    pen.scale(ratio, ratio);
    for (var slot = 0; slot < sums.length; slot++) {
        var x = Math.floor(slot / rows) * wide, y = slot % rows * CELL, picked = !span || slot >= span[0] && slot <= span[1];
        var gap = wide > 4 ? 1 : 0;
        pen.globalAlpha = 1;
        pen.fillStyle = style.getPropertyValue(picked ? '--heat-none' : '--heat-out');
        pen.fillRect(x, y, wide - gap, CELL - 1);
        if (sums[slot] === 0) continue;
        pen.globalAlpha = 0.15 + 0.85 * Math.sqrt(sums[slot] / most);
        pen.fillStyle = style.getPropertyValue(picked ? '--heat' : '--heat-dim');
        pen.fillRect(x, y, wide - gap, CELL - 1);
    }
    var all = 0, from = span ? span[0] : 0, to = span ? span[1] : sums.length - 1;
    for (slot = from; slot <= to; slot++) all += sums[slot];
    at('span').textContent = span ? duration(from * data.slot) + ' to ' + duration((to + 1) * data.slot) + ': ' + amount(all) +
        (data.bytes ? '' : ' samples') : 'Click a column, or drag over a span, to see its flame graph.';
    at('axis').textContent = 'From ' + new Date(data.start).toISOString().slice(0, 19).replace('T', ' ') + ' UTC, ' +
        duration(sums.length * data.slot) + '; a column is ' + duration(rows * data.slot) + ', a cell ' + (data.slot < 1000 ?
        data.slot + ' ms' : duration(data.slot)) + ', at most ' + amount(most) + (data.bytes ? '' : ' samples');
    whole.disabled = !span;
}
function slot_at(event) {
    var box = heat.getBoundingClientRect(), wide = column_width();
    var column = Math.floor((event.clientX - box.left) / wide), row = Math.floor((event.clientY - box.top) / CELL);
    column = Math.max(0, Math.min(columns - 1, column));
    row = Math.max(0, Math.min(rows - 1, row));
    return Math.min(sums.length - 1, column * rows + row);
}
function pick(from, to) {
    span = [Math.min(from, to), Math.max(from, to)];
}
function pick_columns(from, to) {
    var first = Math.min(from, to), last = Math.max(from, to);
    span = [first * rows, Math.min(sums.length, (last + 1) * rows) - 1];
}

/* --- the address ------------------------------------------------------------------------------ */

function keep(replace) {
    var parts = [];
    if (zoomed !== 0) parts.push('zoom=' + zoomed);
    if (span) parts.push('span=' + span[0] + '-' + span[1]);
    if (find.value !== '') parts.push('search=' + encodeURIComponent(find.value));
    if (upwards) parts.push('upwards');
    if (absolute !== (data.absolute === true)) parts.push(absolute ? 'absolute' : 'shares');
    var hash = parts.length ? '#' + parts.join('&') : '';
    if (hash !== location.hash)
        history[replace ? 'replaceState' : 'pushState'](null, '', hash || location.pathname + location.search);
}
function restore() {
    zoomed = 0; upwards = false; span = null; find.value = ''; absolute = data.absolute === true;
    location.hash.slice(1).split('&').forEach(function (part) {
        var cut = part.indexOf('='), key = cut < 0 ? part : part.slice(0, cut), value = part.slice(cut + 1), numbers;
        if (key === 'zoom' && /^\d+$/.test(value) && +value < count) zoomed = +value;
        if (key === 'search') { try { find.value = decodeURIComponent(value); } catch (e) { find.value = value; } }
        if (key === 'span' && data.slots && (numbers = /^(\d+)-(\d+)$/.exec(value)) && +numbers[1] <= +numbers[2] &&
            +numbers[2] < sums.length) span = [+numbers[1], +numbers[2]];
        if (key === 'upwards') upwards = true;
        if (compared && (key === 'absolute' || key === 'shares')) absolute = key === 'absolute';
    });
    show();
}
function show() {
    sum();
    if (total[zoomed] === 0) zoomed = 0;
    search();
    draw();
    if (data.slots) draw_heat();
}
function zoom(i) { zoomed = i; draw(); keep(); }

/* --- what people do --------------------------------------------------------------------------- */

at('bar').hidden = false;
svg.addEventListener('click', function (event) {
    var i = frame_of(event);
    if (i >= 0) { reached = i; zoom(i); }
});
svg.addEventListener('keydown', function (event) {
    var i = frame_of(event), to;
    if (i < 0) return;
    if (event.key === 'Enter' || event.key === ' ') {
        reached = i;
        zoom(i);
        reach(i, true);
        event.preventDefault();
    } else if (/^Arrow/.test(event.key)) {
        to = neighbour(i, event.key);
        if (to >= 0) { reach(to, true); event.preventDefault(); }
    }
});
svg.addEventListener('mouseover', tell);
svg.addEventListener('focusin', tell);
reset.addEventListener('click', function () { zoom(0); });
flip.addEventListener('click', function () { upwards = !upwards; draw(); keep(); });
if (mode) mode.addEventListener('click', function () { absolute = !absolute; draw(); keep(); });
find.addEventListener('input', function () { search(); draw(); keep(true); });
whole.addEventListener('click', function () { span = null; show(); keep(); });
window.addEventListener('popstate', restore);
window.addEventListener('hashchange', restore);
document.addEventListener('keydown', function (event) {
    if (event.key !== 'Escape') return;
    find.value = '';
    zoomed = 0;
    span = null;
    show();
    keep();
});
if (data.slots) {
    at('times').hidden = false;
    heat.addEventListener('pointerdown', function (event) {
        picking = {from: slot_at(event), moved: false};
        heat.setPointerCapture(event.pointerId);
    });
    heat.addEventListener('pointermove', function (event) {
        if (!picking) return;
        var to = slot_at(event);
        picking.moved = picking.moved || to !== picking.from;
        if (picking.moved) { pick(picking.from, to); draw_heat(); }
    });
    heat.addEventListener('pointerup', function (event) {
        if (!picking) return;
        var to = slot_at(event);
        if (picking.moved) pick(picking.from, to);
        else pick_columns(Math.floor(to / rows), Math.floor(to / rows));
        picking = null;
        show();
        keep();
    });
    heat.addEventListener('pointercancel', function () { picking = null; restore(); });
    heat.addEventListener('keydown', function (event) {
        var step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
        if (step === 0) return;
        var first = span ? Math.floor(span[0] / rows) : step > 0 ? -1 : columns, last = span ? Math.floor(span[1] / rows) : first;
        var to = Math.max(0, Math.min(columns - 1, (event.shiftKey ? last : step > 0 ? last : first) + step));
        if (event.shiftKey && span) pick_columns(first, Math.max(first, to));
        else pick_columns(to, to);
        event.preventDefault();
        show();
        keep(true);
    });
}
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', function () { if (data.slots) draw_heat(); });
var width = svg.clientWidth;
window.addEventListener('resize', function () {
    if (svg.clientWidth === width) return;
    width = svg.clientWidth;
    draw();
    if (data.slots) draw_heat();
});
restore();
})();
