package tools

import (
	"strconv"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v2"

	"github.com/unitd/unitd/pattern"
)

// formatYAML is block YAML as the original's encoder writes it; nothing for
// nil. yaml.v2 does so but for one thing: it takes more texts for numbers, and
// so quotes 12e03, part of some hash, or 08901, which the original leaves
// plain. (Keys stay quoted: the same YAML, in another spelling.)
//
// Source: docs/spec/hook-tools.md §3, docs/spec/yaml-quoting.txt, and the encoder itself.
func formatYAML(value any) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	masked, ok := maskNumbers(value)
	text, err := yaml.Marshal(masked)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if ok {
		text = []byte(strings.Map(unmask, string(text)))
	}
	return text, nil
}

// maskBase and the 127 characters after it stand for those of ASCII while the
// encoder is at work: they are for private use, printable, and as wide, so
// that it sees no number but folds lines where it would.
const maskBase = '\uE100'

func mask(r rune) rune { return maskBase + r }

func unmask(r rune) rune {
	if isMask(r) {
		return r - maskBase
	}
	return r
}

func isMask(r rune) bool { return r >= maskBase && r < maskBase+0x80 }

// maskNumbers masks the values in question. It is false, and the value as it
// was, where there are none, or where the text has characters of the mask's:
// then quoting does no harm, and changing the text would.
func maskNumbers(value any) (any, bool) {
	found, clash := false, false
	masked := mapTexts(value, func(s string) string {
		clash = clash || strings.ContainsFunc(s, isMask)
		if !onlyLooksLikeNumber(s) {
			return s
		}
		found = true
		return strings.Map(mask, s)
	})
	if clash || !found {
		return value, false
	}
	return masked, true
}

// mapTexts is value with f over each text in it. Keys are shown to f, too, but
// stay.
func mapTexts(value any, f func(string) string) any {
	switch v := value.(type) {
	case string:
		return f(v)
	case []string:
		out := make([]string, len(v))
		for i, s := range v {
			out[i] = f(s)
		}
		return out
	case map[string]string:
		out := make(map[string]string, len(v))
		for k, s := range v {
			f(k)
			out[k] = f(s)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			f(k)
			out[k] = mapTexts(e, f)
		}
		return out
	}
	return value
}

var (
	// looseNumber is what yaml.v2 takes for a number with a fraction or an
	// exponent, strictNumber what the original does: no zeros in front, no
	// point without digits, and a sign in each exponent.
	looseNumber  = pattern.New(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	strictNumber = pattern.New(`^[-+]?(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][-+][0-9]+)?$`)
)

// onlyLooksLikeNumber says whether yaml.v2 quotes s and the original doesn't.
// Whole numbers, octal ones too, are such to both.
func onlyLooksLikeNumber(s string) bool {
	plain := strings.ReplaceAll(s, "_", "")
	if !looseNumber.MatchString(plain) || strictNumber.MatchString(plain) || s[0] == '.' {
		return false // with a point in front both take what Go takes
	}
	_, signed := strconv.ParseInt(plain, 0, 64)
	_, unsigned := strconv.ParseUint(plain, 0, 64)
	return signed != nil && unsigned != nil
}
