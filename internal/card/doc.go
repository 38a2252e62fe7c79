// Package card says what people are told of an approval, once for all surfaces: cards, digests, reminders, and how it
// ended. It is pure. Telegram, Discord, pages and terminals translate what it gives, and decide nothing.
//
// [Of] takes an approval, the call's params as facts, and a [Reader] (people, zone, time), and gives a [Card]: a
// headline, the call in [Block] values (code, a change, a table), the risk in words with the reasons that count most,
// the asker's claims apart, who has voted, and what may be tapped. [Draw] adds what one place takes: all of it, a file
// beside it, or less.
//
// Three ideas:
//
//   - Texts in a card are redacted and escaped already. A surface only adds its own markup.
//   - The desk's words and the asker's are never mixed on a line. What an asker claims has a mark of its own; a name
//     that a caller chose is not where a reader expects the desk to speak.
//   - An allow is for what was shown. [Drawing].Shown says if all that would run is in that chat; else the card may
//     only deny. A long call is cut to the lines that its reasons come from (short.go), and says what it leaves out.
//
// For exec with the command "terraform apply plan.out" the card's headline is "deployer asks to run", its one block is
// that line as code, and Why is "R4 high impact" with what apply changes. After the end the outcome is the first line
// instead, and the call is one line of summary, since its params may be gone by then.
package card
