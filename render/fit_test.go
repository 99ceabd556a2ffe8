package render

import (
	"strings"
	"testing"
)

func TestATableThatIsTooWideIsBrokenBetweenWords(t *testing.T) {
	t.Parallel()
	rows := [][]Cell{
		Heads("Unit", "Took", "Message"),
		{{Text: "shop/0"}, {Text: "4ms", Right: true}, {Text: "waiting for the database to come up", Colour: Grey}},
		{{Text: "ledger/10"}, {Text: "12ms", Right: true}, {Text: ""}},
		{{Text: "x"}, {Text: "1s", Right: true}, {Text: "http://a.very.long/address-without-a-blank"}},
	}
	for width, want := range map[int]string{
		0:  "Unit       Took  Message\nshop/0      4ms  waiting for the database to come up\nledger/10  12ms  \nx            1s  http://a.very.long/address-without-a-blank\n",
		80: "Unit       Took  Message\nshop/0      4ms  waiting for the database to come up\nledger/10  12ms  \nx            1s  http://a.very.long/address-without-a-blank\n",
		// The address isn't broken, and nothing else can become narrower.
		40: "Unit       Took  Message\nshop/0      4ms  waiting for the database to come up\nledger/10  12ms  \nx            1s  http://a.very.long/address-without-a-blank\n",
	} {
		table := Table{Width: width}
		table.Block(rows)
		if got := table.String(); got != want {
			t.Errorf("%d wide:\n%swant\n%s", width, got, want)
		}
	}
	table := Table{Width: 40}
	table.Block(rows[:3])
	if want := "Unit       Took  Message\nshop/0      4ms  waiting for the\n                 database to come up\nledger/10  12ms  \n"; table.String() != want {
		t.Errorf("40 wide:\n%swant\n%s", table.String(), want)
	}
	// The first column is wide; each line has the colour of its cell.
	table = Table{Width: 24, Colours: true}
	table.Block([][]Cell{{{Text: "one two three four", Colour: Green}, {Text: "end"}}, {{Text: "a"}, {Text: "x", more: []span{{" y z and more", Red}}}}})
	got := table.String()
	for _, want := range []string{Paint(Green, "one two") + "     end", Paint(Green, "three four") + "\n", "x" + Paint(Red, " y z and more")} {
		if !strings.Contains(got, want) {
			t.Errorf("it is %q, want %q in it", got, want)
		}
	}
}
