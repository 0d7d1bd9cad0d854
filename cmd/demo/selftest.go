package main

import (
	"context"
	"fmt"
	"io"
)

// measuredNodes is the number of daemons that measure the network.
const measuredNodes = 3

// selftestConfig returns the configuration of the daemons: all are test nodes.
func selftestConfig(*lab, int) string { return "selftest: 1\n" }

// selftest makes the console of the first daemon measure the paths between all daemons.
func selftest(ctx context.Context, w io.Writer, l *lab) error {
	all := l.first(measuredNodes)
	fmt.Fprintf(w, "\nThree test nodes of selftest, Lustre's test of its network, write 64 KiB to each other and\n"+
		"check every byte (lst quick '%s' '%[1]s' --brw write --check full --size 64k):\n\n", all)
	said, err := output(l.command(ctx, "lst", "--socket", l.nodes[0].socket, "quick", all, all,
		"--brw", "write", "--check", "full", "--size", "64k", "--time", "1s"))
	if err == nil {
		_, err = io.WriteString(w, indent(said))
	}
	return err
}
