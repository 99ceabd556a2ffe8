package tools

import (
	"strings"
	"testing"
)

// The cases are what the original's encoder was seen to write
// (docs/spec/yaml-quoting.txt).
func TestYAMLIsWrittenAsTheOriginalWritesIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "\"\"\n"},
		{"a", "a\n"},
		{"yes", "\"yes\"\n"},
		{"Yes", "\"Yes\"\n"},
		{"y", "\"y\"\n"},
		{"n", "\"n\"\n"},
		{"on", "\"on\"\n"},
		{"off", "\"off\"\n"},
		{"true", "\"true\"\n"},
		{"null", "\"null\"\n"},
		{"~", "\"~\"\n"},
		{"123", "\"123\"\n"},
		{"1.5", "\"1.5\"\n"},
		{"0x1f", "\"0x1f\"\n"},
		{"0o17", "\"0o17\"\n"},
		{"017", "\"017\"\n"},
		{"1e3", "1e3\n"},
		{"1_000", "\"1_000\"\n"},
		{"2024-01-02", "\"2024-01-02\"\n"},
		{"2001-12-14t21:59:43Z", "\"2001-12-14t21:59:43Z\"\n"},
		{"a: b", "'a: b'\n"},
		{"a:b", "a:b\n"},
		{"a #b", "'a #b'\n"},
		{"#x", "'#x'\n"},
		{"- x", "'- x'\n"},
		{"-x", "-x\n"},
		{"- ", "'- '\n"},
		{"*x", "'*x'\n"},
		{"&x", "'&x'\n"},
		{"!x", "'!x'\n"},
		{"%x", "'%x'\n"},
		{"@x", "'@x'\n"},
		{"`x", "'`x'\n"},
		{"[x", "'[x'\n"},
		{"{x", "'{x'\n"},
		{"x,y", "x,y\n"},
		{"x]", "x]\n"},
		{"'q'", "'''q'''\n"},
		{"\"q\"", "'\"q\"'\n"},
		{"it's", "it's\n"},
		{"a\nb", "|-\n  a\n  b\n"},
		{"a\nb\n", "|\n  a\n  b\n"},
		{"\n", "|2+\n\n"},
		{" lead", "' lead'\n"},
		{"trail ", "'trail '\n"},
		{"tab\there", "\"tab\\there\"\n"},
		{"é", "é\n"},
		{"😀", "\"\\U0001F600\"\n"},
		{"\x00", "\"\\0\"\n"},
		{"a\\b", "a\\b\n"},
		{"=", "=\n"},
		{"<<", "<<\n"},
		{"10.0.0.1", "10.0.0.1\n"},
		{"10.0.0.0/24", "10.0.0.0/24\n"},
		{"00:11:22:33:44:55", "\"00:11:22:33:44:55\"\n"},
		{"1:20", "\"1:20\"\n"},
		{"22:22", "\"22:22\"\n"},
		{"a|b", "a|b\n"},
		{">x", "'>x'\n"},
		{"?x", "?x\n"},
		{"? x", "'? x'\n"},
		{": x", "': x'\n"},
		{":x", ":x\n"},
		{"null ", "'null '\n"},
		{"NaN", "NaN\n"},
		{".nan", "\".nan\"\n"},
		{".inf", "\".inf\"\n"},
		{"+1", "\"+1\"\n"},
		{"-1", "\"-1\"\n"},
		{"1,000", "1,000\n"},
		{"12e03", "12e03\n"},
		{"http://x:80/y?z=1#f", "http://x:80/y?z=1#f\n"},
		{"multi\n  indent\nend", "|-\n  multi\n    indent\n  end\n"},
		{"x\n\ny\n\n", "|+\n  x\n\n  y\n\n"},
		{"\tx", "\"\\tx\"\n"},
		{"a\r\nb", "\"a\\r\\nb\"\n"},
		{
			strings.Repeat("word ", 40) + "end",
			strings.Repeat("word ", 16) + "word\n  " + strings.Repeat("word ", 15) + "word\n  " +
				strings.Repeat("word ", 7) + "end\n",
		},
	} {
		got, err := formatYAML(c.text)
		if err != nil || string(got) != c.want {
			t.Errorf("%q is written as %q (%v), want %q", c.text, got, err, c.want)
		}
	}
}

func TestYAMLOfOtherValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{
			"keys are in natural order, and quoted where they would be something else than text",
			map[string]string{
				"10": "t", "9": "n", "1": "x", "-": "d", "B": "3", "a10": "1", "a2": "2", "a-b": "y", "a_b": "z",
				"b": "4", "true": "b",
			},
			"'-': d\n\"1\": x\n\"9\": \"n\"\n\"10\": t\nB: \"3\"\na-b: \"y\"\na_b: z\na2: \"2\"\na10: \"1\"\nb: \"4\"\n\"true\": b\n",
		},
		{"lists are not indented", []string{"a", "b: c", ""}, "- a\n- 'b: c'\n- \"\"\n"},
		{
			"lists in maps are not indented, empty ones are in flow style",
			map[string]any{"l": []any{1, "x", nil}, "e": []string{}, "m": map[string]string{}},
			"e: []\nl:\n- 1\n- x\n- null\nm: {}\n",
		},
		{"whole numbers are plain, however large", int64(1000000), "1000000\n"},
		{"a float of a million has an exponent", 1000000.0, "1e+06\n"},
		{"a float without a fraction is written as a whole number", 45.0, "45\n"},
		{"a small float has an exponent", 0.00001, "1e-05\n"},
		{"a large float", 1e21, "1e+21\n"},
		{"a float", 123456.789, "123456.789\n"},
		{"a negative number", -3.0, "-3\n"},
		{"hash-like values stay plain in maps", map[string]string{"k": "12e03"}, "k: 12e03\n"},
		{"hash-like values stay plain in maps of anything", map[string]any{"k": "1E5", "n": 5}, "k: 1E5\n\"n\": 5\n"},
		{"a number with a point in front is one, exponent or not", ".09e07", "\".09e07\"\n"},
		{"hash-like values stay plain in lists", []string{"12e03", "x"}, "- 12e03\n- x\n"},
		{
			"text with characters of the mask's own is kept, and then all is quoted that can be",
			[]string{"12e03", "\uE131"}, "- \"12e03\"\n- \uE131\n",
		},
		{"a number with a sign in its exponent is one to the original, too", "1.5e+3", "\"1.5e+3\"\n"},
		{"an octal number is quoted, digits with a zero in front that are none aren't", []string{"0123", "089"}, "- \"0123\"\n- 089\n"},
		{"nothing is nothing", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := formatYAML(c.value)
			if err != nil {
				t.Fatal(err)
			}
			mustBe(t, "yaml", string(got), c.want)
		})
	}
}
