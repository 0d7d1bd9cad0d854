package main

import (
	"context"
	"fmt"
	"io"
)

// gossip makes three daemons watch each other, kills one of them and starts it again, and prints
// what gossipctl reports on another one.
func gossip(ctx context.Context, w io.Writer, l *lab) error {
	fmt.Fprint(w, "\nThree nodes find out which of them are alive; then one is killed, and comes back (gossipctl watch):\n\n")
	var all []string
	for _, n := range l.nodes {
		all = append(all, n.nid)
	}
	watch, err := l.boot(ctx, w, all)
	if err != nil {
		return err
	}
	defer watch.stop()
	if err := l.dieAndComeBack(ctx, l.nodes[2], watch, all); err != nil {
		return err
	}
	status, err := output(l.command(ctx, "gossipctl", "--socket", l.nodes[0].socket, "status"))
	fmt.Fprintf(w, "\nThat node remembers (gossipctl status):\n\n%s", indent(status))
	return err
}

// boot starts gossip on all nodes; the first one is watched from the beginning.
func (l *lab) boot(ctx context.Context, out io.Writer, all []string) (*watch, error) {
	cold := append([]string{"--cold-start"}, all...)
	if err := l.gossip(ctx, l.nodes[0], cold); err != nil {
		return nil, err
	}
	w, err := l.watch(ctx, out, l.nodes[0], "gossipctl", "watch")
	if err != nil {
		return nil, err
	}
	err = w.await("clock ")
	for _, n := range l.nodes[1:] {
		if err == nil {
			err = l.gossip(ctx, n, cold)
		}
	}
	for range l.nodes[1:] {
		if err == nil {
			err = w.await(" alive ")
		}
	}
	if err != nil {
		w.stop()
	}
	return w, err
}

// dieAndComeBack kills a node, and starts it again once the other nodes have reported its death.
func (l *lab) dieAndComeBack(ctx context.Context, victim *node, w *watch, all []string) error {
	if err := l.kill(victim); err != nil {
		return err
	}
	if err := w.await(" died "); err != nil {
		return err
	}
	reborn := &node{nid: victim.nid, socket: victim.socket}
	if err := l.startNode(ctx, reborn, victim.args); err != nil {
		return err
	}
	if err := l.await(ctx, reborn); err != nil {
		return err
	}
	// Without --cold-start the node is silent at first, so that all others notice its death.
	if err := l.gossip(ctx, reborn, all); err != nil {
		return err
	}
	return w.await(" alive ")
}

// gossip starts the gossip of a node.
func (l *lab) gossip(ctx context.Context, n *node, args []string) error {
	_, err := output(l.command(ctx, "gossipctl", append([]string{"--socket", n.socket, "init", "--interval", "200ms"}, args...)...))
	if err == nil {
		_, err = output(l.command(ctx, "gossipctl", "--socket", n.socket, "start"))
	}
	return err
}

// kill ends a daemon as a crash would.
func (l *lab) kill(victim *node) error {
	for i, n := range l.nodes {
		if n == victim {
			l.nodes = append(l.nodes[:i:i], l.nodes[i+1:]...)
		}
	}
	err := victim.cmd.Process.Kill()
	<-victim.ended
	return err
}
