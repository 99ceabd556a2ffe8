package main

import (
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	green := style{colour: colours[32]}
	for _, c := range []struct {
		name, out string
		want      []line
	}{
		{"lines end as a terminal ends them", "a\r\nb\r\n", []line{{{text: "a"}}, {{text: "b"}}}},
		{"a carriage return writes over what was there", "waiting\rdone\x1b[K\r\n", []line{{{text: "done"}}}},
		{"what isn't written over stays", "abc\rx\r\n", []line{{{text: "xbc"}}}},
		{"colours and bold hold until they are ended", "\x1b[32mok\x1b[0m \x1b[39;1mB\x1b[0m\n",
			[]line{{{"ok", green}, {text: " "}, {"B", style{bold: true}}}}},
		{"other sequences leave nothing", "\x1b[2Ja\n", []line{{{text: "a"}}}},
		{"a line without an end counts, empty ones at the end don't", "830µs \n\n\n", []line{{{text: "830µs"}}}},
		{"a sequence that is cut off ends it", "a\x1b[3", []line{{{text: "a"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := read([]byte(c.out)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAPictureIsWellFormedAndHasTheText(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	draw(&b, read([]byte("a < b & \x1b[31m\"c\"\x1b[0m\n\nd\n")))
	text, d := "", xml.NewDecoder(strings.NewReader(b.String()))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		if chars, ok := tok.(xml.CharData); ok {
			text += string(chars)
		}
	}
	if got := strings.ReplaceAll(text, "\u00a0", " "); !strings.Contains(got, `a < b & "c"`) {
		t.Errorf("the picture says %q", got)
	}
}
