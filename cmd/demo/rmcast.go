package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// multicast has eight daemons in a multicast group: a message goes to all of them, and
// then many while all but the first discard one datagram of ten.
func multicast(ctx context.Context, w io.Writer, g ground, bin, dir string) (err error) {
	dir = filepath.Join(dir, "rmcast")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	config := filepath.Join(dir, "lnetd.yaml")
	text := "rmcast:\n  enable: 1\n  groups:\n    news:\n      number: 7\n      managers: [" + g.nid(0) + "]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	l := &lab{ground: g, bin: bin, dir: dir, size: groupSize, config: func(int) string { return config }}
	defer func() { err = errors.Join(err, l.stop()) }()
	if err := l.start(ctx); err != nil {
		return err
	}
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

// everybody is what the first node says when all are members, and all know so.
var everybody = regexp.MustCompile(fmt.Sprintf(`version [0-9]+\.[0-9]+, %d members`, groupSize))

// untilMembers waits until all are members.
func (l *lab) untilMembers(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		said, err := output(l.scollctl(ctx, "mcast", "status", "news"))
		if err != nil || everybody.MatchString(said) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not all are members of the group: %w\n%s", context.Cause(ctx), said)
		}
	}
}
