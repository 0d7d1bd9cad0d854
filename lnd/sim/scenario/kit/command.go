package kit

import (
	"strings"

	"ulnet/lnd/sim/scenario"
)

// Command parses the text of a command to a node: a verb and its arguments.
func Command(text string) (verb string, args scenario.Args) {
	verb, rest, _ := strings.Cut(text, " ")
	return verb, strings.Fields(rest)
}
