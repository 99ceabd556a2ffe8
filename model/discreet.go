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
var PasswordInURL = pattern.New(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'\\]*:([^\s/@"'\\]+)@`)

// PrivateKey marks text that is a secret whatever its key is.
const PrivateKey = "PRIVATE KEY-----"

// setting is a key before its value in text, as shells, JSON and YAML write it; valueEnds are
// what such a value ends before.
var setting = pattern.New(`([A-Za-z][\w.-]*)(\\?["']?[ \t]*[:=][ \t]*\\?["']?)`)

const valueEnds = " \t\r\n\"'\\,;&}"

// Discreet is the text that a key has as its value, without what looks like a secret, for which
// "…" stands: all of it, where the key is called like one; private keys; and passwords in URLs
// and in settings in the text. The URI of a secret is none. An empty text stays so.
func Discreet(key, text string) string {
	switch {
	case text == "":
		return ""
	case strings.Contains(text, PrivateKey), NamesSecret(key) && !strings.HasPrefix(strings.Trim(text, `"`), "secret:"):
		return "…"
	}
	text = hide(text, PasswordInURL.Regexp().FindAllStringSubmatchIndex(text, -1), func(at []int) (from, to int) { return at[2], at[3] })
	return hide(text, setting.Regexp().FindAllStringSubmatchIndex(text, -1), func(at []int) (from, to int) {
		from = at[1]
		to = len(text)
		if n := strings.IndexAny(text[from:], valueEnds); n >= 0 {
			to = from + n
		}
		_, _, err := ParseSecretURI(text[at[0]:to])
		if key := text[at[2]:at[3]]; !NamesSecret(key) || key == "secret" && err == nil || strings.HasPrefix(text[from:to], "secret:") {
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
