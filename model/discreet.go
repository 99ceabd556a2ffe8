package model

import (
	"slices"
	"strings"

	"github.com/unitd/unitd/pattern"
)

// secretWords are what keys of secrets have in them, without "-", "_" and ".".
var secretWords = []string{
	"password", "passwd", "passphrase", "passcode", "secret", "token", "credential",
	"privatekey", "apikey", "accesskey", "encryptionkey", "signingkey",
}

// secretEnds are what keys of secrets end with, as a word of its own: "db-pass".
var secretEnds = pattern.New(`(?i:(?:^|[-_. ])(?:pass|pwd|pw|pin|otp))$|[a-z](?:Pass|Pwd|Pw|Pin|Otp|PIN|OTP)$`)

// separators are what key names are written with.
var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// NamesSecret says whether a key is called as keys of secrets are.
func NamesSecret(key string) bool {
	if secretEnds.MatchString(key) {
		return true
	}
	key = separators.Replace(strings.ToLower(key))
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(key, word) })
}

// PasswordInURL finds the password of a URL, which is its first group.
var PasswordInURL = pattern.New(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'\\]*:([^\s/"'\\]+)@`)

// PrivateKey marks text that is a secret whatever its key is.
const PrivateKey = "PRIVATE KEY-----"

// setting is a key before its value in text, as shells, JSON and YAML write it, with the quote
// that the value begins with.
var setting = pattern.New(`([A-Za-z][\w.-]*)(?:\\?["'])?[ \t]*[:=][ \t]*(\\?["'])?`)

// secretURI is the URI of a secret at the beginning of a text.
var secretURI = pattern.New(`^secret:(?://[0-9a-f-]+/)?[0-9a-v]{20}\b`)

// valueLength is how long a value at the beginning of a text is, which has that quote before it:
// up to the same quote or, without one, as long as its line. A block of lines, as YAML writes it,
// goes on to the end of the text: what comes after it is hidden, too.
func valueLength(text, quote string) int {
	switch {
	case quote != "":
		return quotedLength(text, quote)
	case strings.HasPrefix(text, "|"), strings.HasPrefix(text, ">"), strings.HasPrefix(strings.TrimLeft(text, " \t\r"), "\n"):
		return len(text)
	}
	if n := strings.IndexAny(text, "\r\n"); n >= 0 {
		return n
	}
	return len(text)
}

// quotedLength is valueLength of a quoted value. A quote after a backslash is a part of it, and
// so are two single quotes in a row, as YAML writes one.
func quotedLength(text, quote string) int {
	for at := 0; ; {
		n := strings.Index(text[at:], quote)
		if n < 0 {
			return len(text)
		}
		switch at += n; {
		case quote == "'" && strings.HasPrefix(text[at:], "''"):
			at += 2
		case escaped(text[:at]):
			at += len(quote)
		default:
			return at
		}
	}
}

// escaped says whether what comes after the text has a backslash before it that counts.
func escaped(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// Discreet is the text that a key has as its value, without what looks like a secret, for which
// "…" stands: all of it, where the key is called like one; private keys; and passwords in URLs
// and in settings in the text. The URI of a secret is none. An empty text stays so.
func Discreet(key, text string) string {
	switch {
	case text == "":
		return ""
	case strings.Contains(text, PrivateKey), NamesSecret(key) && !secretURI.MatchString(strings.Trim(text, `"`)):
		return "…"
	}
	text = hide(text, PasswordInURL.Regexp().FindAllStringSubmatchIndex(text, -1), func(at []int) (from, to int) { return at[2], at[3] })
	return hide(text, setting.Regexp().FindAllStringSubmatchIndex(text, -1), func(at []int) (from, to int) {
		quote := ""
		if at[4] >= 0 {
			quote = text[at[4]:at[5]]
		}
		from = at[1]
		to = from + valueLength(text[from:], quote)
		if !NamesSecret(text[at[2]:at[3]]) || secretURI.MatchString(text[at[0]:]) || secretURI.MatchString(text[from:]) {
			to = from
		}
		return from, to
	})
}

// hide puts "…" in place of what part says of each match, if it is anything.
func hide(text string, matches [][]int, part func(at []int) (from, to int)) string {
	var b strings.Builder
	end := 0
	for _, at := range matches {
		if from, to := part(at); from >= end && from < to {
			b.WriteString(text[end:from] + "…")
			end = to
		}
	}
	return b.String() + text[end:]
}
