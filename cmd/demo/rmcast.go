package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"time"
)

// multicast runs eight daemons in a multicast group. It sends one message, and then many
// messages while each member except the first discards one datagram in ten.
func multicast(ctx context.Context, w io.Writer, l *lab) error {
	if err := l.untilMembers(ctx); err != nil {
		return err
	}
	said, err := output(l.scollctl(ctx, "mcast", "send", "news", "hello, all"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nEight nodes are a multicast group. A message goes to all at once, and is over when each has told so, along a tree\n"+
		"(scollctl mcast send):\n\n%s", indent(said))
	for _, n := range l.nodes[1:] {
		if _, err := output(l.command(ctx, "scollctl", "--socket", n.socket, "mcast", "fault", "news", "--datagrams", "0.1")); err != nil {
			return err
		}
	}
	if said, err = output(l.scollctl(ctx, "mcast", "bench", "news", "--count", "2000", "--in-flight", "32")); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nAll others discard one datagram of ten from now on, and still get every message, once and in order\n"+
		"(scollctl mcast fault, scollctl mcast bench):\n\n%s", indent(said))
	return err
}

// allMembers matches the status of the first node when all nodes are members.
var allMembers = regexp.MustCompile(fmt.Sprintf(`version [0-9]+\.[0-9]+, %d members`, groupSize))

// castConfig returns the configuration of all members, of which the first manages the group.
func castConfig(l *lab, _ int) string {
	return "rmcast:\n  enable: 1\n  groups:\n    news:\n      number: 7\n      managers: [" + l.nid(0) + "]\n"
}

// untilMembers waits until all daemons are members.
func (l *lab) untilMembers(ctx context.Context) error {
	return until(ctx, 100*time.Millisecond, func() (missing string, err error) {
		said, err := output(l.scollctl(ctx, "mcast", "status", "news"))
		if !allMembers.MatchString(said) {
			missing = "not all are members of the group:\n" + said
		}
		return missing, err
	})
}
