package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// excerpt bounds the lines of a decoded capture that are shown.
const excerpt = 60

// show prints the capture of the first node as decoded by lnetdump and, if installed, by
// tshark.
func show(ctx context.Context, w io.Writer, l *lab) error {
	messages, err := output(l.command(ctx, "lnetdump", l.capture))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nWhat the first node sent and received, by lnetdump:\n\n%s", head(messages))
	stats, err := output(l.command(ctx, "lnetdump", "--stats", l.capture))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe same in sums (lnetdump --stats):\n\n%s", stats)

	tshark, err := exec.LookPath("tshark")
	if err != nil {
		fmt.Fprintln(w, "\ntshark is not installed: no second opinion on the capture.")
		return nil
	}
	frames, err := output(exec.CommandContext(ctx, tshark, "-r", l.capture, "-Y", "lnet"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nAnd by tshark, which knows nothing of this project, and takes the payload of every PUT\n"+
		"for an RPC of Lustre, which ours is not (hence malformed):\n\n%s", head(frames))
	if l.kind != "o2ib" {
		return nil
	}
	manager, err := output(exec.CommandContext(ctx, tshark, "-r", l.capture, "-Y", "infiniband.mad.attributeid"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nIt knows the connection manager of RDMA, too:\n\n%s", head(manager))
	return nil
}

// head returns the first lines of text, and how many more there are.
func head(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	if len(lines) <= excerpt {
		return text
	}
	return strings.Join(lines[:excerpt], "") + fmt.Sprintf("… and %d more lines\n", len(lines)-excerpt)
}
