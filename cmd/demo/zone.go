package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	// zoneMembers is the number of daemons in the base zone. One more is its supervisor.
	zoneMembers = 24
	// zoneLook is the interval between two requests for the census.
	zoneLook = 200 * time.Millisecond
)

// zones runs a zone of daemons below a supervisor. One of them leaves and one is killed: a
// monitor in the zone reports both, and the supervisor counts the remaining members.
func zones(ctx context.Context, w io.Writer, l *lab) error {
	guard, monitor, leaver, victim := l.nodes[0], l.nodes[1], l.nodes[l.size-2], l.nodes[l.size-1]
	if _, err := l.census(ctx, guard, zoneMembers); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d nodes are a zone, in which each knows all others, below a supervisor. One leaves, one is killed; a monitor\n"+
		"among the others is told (gossipctl zone watch):\n\n", zoneMembers)
	watch, err := l.watch(ctx, w, monitor, "gossipctl", "zone", "watch")
	if err != nil {
		return err
	}
	defer watch.stop()
	if _, err := output(l.command(ctx, "gossipctl", "--socket", leaver.socket, "zone", "leave", "--code", "7")); err != nil {
		return err
	}
	if _, err := watch.find("left       " + l.zoneNode(l.size-2)); err != nil {
		return err
	}
	if err := l.kill(victim); err != nil {
		return err
	}
	if _, err := watch.find("left       " + l.zoneNode(l.size-1)); err != nil {
		return err
	}
	census, err := l.census(ctx, guard, zoneMembers-2)
	fmt.Fprintf(w, "\nThe supervisor counts those who are left (gossipctl zone census):\n\n%s", indent(census))
	return err
}

func (g ground) zoneNode(i int) string { return fmt.Sprintf("n%d=%s", i, g.nid(i)) }

// zoneConfig returns the configuration of daemon i: the first one is the supervisor, and the
// second one a monitor of the zone.
func zoneConfig(l *lab, i int) string {
	text := fmt.Sprintf("zone:\n  node: n%d\n  heartbeat: 500ms\n", i)
	switch i {
	case 0:
		return text + "  name: management\n  role: supervisor\n"
	case 1:
		text += "  monitor: 1\n"
	}
	return text + "  name: rack\n  management: [" + l.zoneNode(0) + "]\n  bootstrap: [" + l.zoneNode(1) + ", " + l.zoneNode(2) + "]\n"
}

// census waits until the supervisor guard reports that a zone has the given number of members,
// and returns its report.
func (l *lab) census(ctx context.Context, guard *node, members int) (text string, err error) {
	err = until(ctx, zoneLook, func() (missing string, err error) {
		text, err = output(l.command(ctx, "gossipctl", "--socket", guard.socket, "zone", "census"))
		if !strings.HasSuffix(text, fmt.Sprintf("\n1 zone, %d members\n", members)) {
			missing = fmt.Sprintf("the census is not of %d members:\n%s", members, text)
		}
		return missing, err
	})
	return text, err
}
