package display

import (
	"sync"

	"golang.org/x/text/unicode/norm"

	"approvalbot/internal/lazy"
)

// twins are letters and marks of other alphabets, and the ASCII characters for
// which they are easily taken.
var twins = sync.OnceValue(func() map[rune]rune {
	pairs := map[rune]rune{}
	add := func(theirs, ascii string) {
		like := []rune(ascii)
		for i, r := range []rune(theirs) {
			pairs[r] = like[i]
		}
	}
	add("аеорсухіјѕһԁԛԝӏѵүкмтвнгпибьзА", "aeopcyxijshdqwlvykmtbhrnubb3A")
	add("ВЕКМНОРСТУХІЈЅЗԌԜҮ", "BEKMHOPCTYXIJS3GWY")
	add("αορνικτυχγωηεσβϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "aopviktuxywneobcjABEZHIKMNOPTYXC")
	add("օսոհցզյՕՏԼ", "ouhhgqjOSL")
	add("ᎪᏴᏟᎠᎬᏀᎻᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃᏮᏯ", "ABCDEGHJKLMPRSTVWZbh")
	add("ıɑɡɩꜱᴄᴏᴠᴡᴢⅼⅰⅽⅾⅿⅹⅴǃ", "iagiscovwzlicdmxv!")
	add("\u037E\u2044\u2215\u29F8\u2024\uA789\u2236\u01C0\u2223\u02D7", ";///.::||-")
	return pairs
})

// identical are the letters that most fonts draw just as their twins.
const identical = "аеорсухіјѕһԁԛԝӏοϲϳօ"

// commands are short names that people read without looking twice.
var commands = lazy.Words(`
	apt ash awk bash bun cat cc cd chmod chown cp curl dash dd dig docker echo env eval exec find gcc git go
	grep host ip java kill ls make mv nc node npm nsh open php pip ps python rm rsh ruby scp sed sh ssh su
	sudo tar tee yarn zsh`)

// twin gives the ASCII character that r looks like, or 0.
func twin(r rune) rune {
	if r < 0x80 {
		return 0
	}
	if like := twins()[r]; like != 0 {
		return like
	}
	return styled(r)
}

// styled gives the ASCII character of which r is a full-width, small or
// mathematical form, or 0.
func styled(r rune) rune {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E,
		r >= 0x1D400 && r <= 0x1D7FF,
		r >= 0xFE50 && r <= 0xFE6B,
		r >= 0x2100 && r <= 0x214F:
	default:
		return 0
	}
	if folded := []rune(norm.NFKC.String(string(r))); len(folded) == 1 && folded[0] > ' ' && folded[0] < 0x80 {
		return folded[0]
	}
	return 0
}
