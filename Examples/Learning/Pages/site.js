'use strict';

// The gallery: shows the exhibits that have all the words.
const find = document.getElementById('find');
if (find) {
    const exhibits = [...document.querySelectorAll('.exhibit')];
    const texts = exhibits.map(exhibit =>
        `${exhibit.dataset.code} ${exhibit.dataset.number} ${exhibit.textContent}`.replaceAll('−', '-').toLowerCase());
    const search = () => {
        const words = find.value.replaceAll('−', '-').toLowerCase().split(/\s+/).filter(word => word);
        const isCode = exhibits.some(exhibit => exhibit.dataset.code === find.value);
        let count = 0;
        exhibits.forEach((exhibit, position) => {
            const isFound = isCode ? exhibit.dataset.code === find.value : words.every(word => texts[position].includes(word));
            exhibit.hidden = !isFound;
            if (isFound) count++;
        });
        document.getElementById('found').textContent = words.length ? `${count} of ${exhibits.length}` : '';
        for (const button of document.querySelectorAll('[data-code][type=button]')) {
            button.setAttribute('aria-pressed', String(button.dataset.code === find.value));
        }
    };
    find.addEventListener('input', search);
    find.form.addEventListener('submit', event => event.preventDefault());
    for (const button of document.querySelectorAll('[data-code][type=button]')) {
        button.addEventListener('click', () => {
            find.value = find.value === button.dataset.code ? '' : button.dataset.code;
            search();
        });
    }
    // A link can name a code: gallery/index.html#code-timedOut
    const named = () => {
        const name = decodeURIComponent(location.hash.slice(1)).replace(/^code-/, '');
        if (location.hash.startsWith('#code-') && exhibits.some(exhibit => exhibit.dataset.code === name)) {
            find.value = name;
            search();
        }
    };
    window.addEventListener('hashchange', named);
    named();
    search();
}

// A knife: shows the play of the place at which the slider is.
for (const knife of document.querySelectorAll('.knife')) {
    const plays = [...knife.querySelectorAll('.plays li')];
    const slider = knife.querySelector('input');
    const frame = knife.querySelector('iframe');
    const outcome = knife.querySelector('.outcome');
    const show = () => {
        const play = plays[Number(slider.value)];
        const link = play.querySelector('a');
        slider.setAttribute('aria-valuetext', link.textContent);
        knife.querySelector('output').textContent = link.textContent;
        outcome.textContent = play.querySelector('span').textContent;
        outcome.className = `outcome ${play.className}`;
        // Another address in place of the last one, so that “back” leaves the page.
        if (frame.contentWindow) frame.contentWindow.location.replace(link.href);
    };
    slider.addEventListener('input', show);
    knife.querySelector('.controls').hidden = false;
    show();
}

// The game: every move was played; what it made is in the page.
const game = document.getElementById('game');
if (game) {
    const transfers = JSON.parse(document.getElementById('moves').textContent);
    const $ = name => game.querySelector(`[name=${name}]`);
    const wrong = {naive: new Set(), purl: new Set()};
    let tries = 0;
    const choose = () => {
        const transfer = transfers[$('transfer').value];
        $('cut').max = String(transfer.moves.length - 1);
        document.getElementById('trait').textContent = transfer.trait;
        place();
    };
    const place = () => {
        const words = `after ${$('cut').value} of ${$('cut').max} bytes`;
        document.getElementById('place').textContent = words;
        $('cut').setAttribute('aria-valuetext', words);
    };
    const cut = () => {
        const transfer = transfers[$('transfer').value];
        const client = $('client').value;
        const move = transfer.moves[Number($('cut').value)][client][Number($('clock').value)];
        tries++;
        const verdict = document.getElementById('verdict');
        const isWrong = move.result === 'wrong';
        if (isWrong) wrong[client].add($('transfer').value);
        verdict.className = `outcome ${isWrong ? 'bad' : 'good'}`;
        verdict.textContent = isWrong ? 'A wrong file, and nobody noticed:'
            : move.result === 'right' ? 'The file is right:' : 'No file, and an error that says so:';
        document.getElementById('file').textContent = move.file;
        document.getElementById('wire').textContent = move.requests.join('\n');
        document.getElementById('score').textContent =
            `${tries} ${tries === 1 ? 'cut' : 'cuts'}. Wrong files: the naive client ${wrong.naive.size} of ${transfers.length}, `
            + `Purl ${wrong.purl.size} of ${transfers.length}.`;
    };
    $('transfer').addEventListener('change', choose);
    $('cut').addEventListener('input', place);
    game.addEventListener('submit', event => { event.preventDefault(); cut(); });
    game.hidden = false;
    choose();
}
