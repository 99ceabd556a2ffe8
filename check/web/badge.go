package web

import (
	"strings"

	"github.com/unitd/unitd/check"
)

// paint has the colours behind a badge's verdict. White text is easy to read on each of them, on
// light pages and on dark ones.
var paint = map[check.Standing]string{
	check.Kept: "#1a7f37", check.Broken: "#c11c28", check.Unfinished: "#8a5a00", check.Untried: "#5c6675",
}

// Badge is an SVG image, 20 pixels high, that shows the result of a check.
func Badge(r *check.Report) []byte {
	v := verdictOf(r)
	const left = "unitd check"
	right := v.badge()
	leftText, rightText := width(left), width(right)
	leftBox, rightBox := leftText+12, rightText+12
	var m markup
	title := "unitd check of " + r.Charm + ": " + right
	m.put(`<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="20" viewBox="0 0 %v 20" role="img" aria-label="%v">
<title>%v</title>
<clipPath id="round"><rect width="%v" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)"><rect width="%v" height="20" fill="#3f4752"/><rect x="%v" width="%v" height="20" fill="%v"/></g>
`, leftBox+rightBox, leftBox+rightBox, title, title, leftBox+rightBox, leftBox, leftBox, rightBox, paint[v.standing()])
	m.put(`<g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" aria-hidden="true">
<text x="6" y="14" textLength="%v" lengthAdjust="spacingAndGlyphs">%v</text>
<text x="%v" y="14" textLength="%v" lengthAdjust="spacingAndGlyphs">%v</text>
</g>
</svg>
`, leftText, left, leftBox+6, rightText, right)
	return []byte(m.text.String())
}

// width is about how many pixels wide a text is, in a font of 11 pixels that a README's reader is
// likely to have. The badge makes its text exactly that wide.
func width(text string) int {
	tenths := 0
	for _, r := range text {
		switch {
		case strings.ContainsRune("ijl", r):
			tenths += 30
		case strings.ContainsRune("rtf ,", r):
			tenths += 43
		case strings.ContainsRune("mw", r):
			tenths += 100
		default:
			tenths += 69
		}
	}
	return (tenths + 9) / 10
}
