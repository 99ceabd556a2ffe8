package check

import "strings"

// split parts a line into words, quotes and all.
func split(line string) (words []string) {
	var word strings.Builder
	quoted, any := false, false
	for _, r := range line + " " {
		switch {
		case r == '\'':
			quoted, any = !quoted, true
			word.WriteRune(r)
		case (r == ' ' || r == '\t') && !quoted:
			if any {
				words = append(words, word.String())
			}
			word.Reset()
			any = false
		default:
			any = true
			word.WriteRune(r)
		}
	}
	return words
}
