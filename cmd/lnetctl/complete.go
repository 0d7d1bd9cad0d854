package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

const (
	// completionTime bounds how long a completion waits for the daemon.
	completionTime = time.Second
	// completionPeers bounds the peers whose NIDs a completion offers.
	completionPeers = 1000
)

// completeLive lets shells complete the NIDs and networks of the running node: arguments and
// values of flags whose names in the help are NID, NIDS or NET.
func completeLive(c *cobra.Command, g *globals) {
	for _, sub := range c.Commands() {
		completeLive(sub, g)
	}
	if c.RunE == nil {
		return
	}
	if offer := offers(g, wordsOf(c.Use)); offer != nil && c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
		c.ValidArgsFunction = offer
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		name, _ := pflag.UnquoteUsage(f)
		if offer := offers(g, []string{strings.ToUpper(name)}); offer != nil {
			_ = c.RegisterFlagCompletionFunc(f.Name, offer) // an error means that the flag has a completion already, which it keeps
		}
	})
}

// wordsOf returns the names of the arguments in a usage line, without the arguments of flags.
func wordsOf(use string) (words []string) {
	flag := false
	for word := range strings.FieldsSeq(use) {
		word = strings.Trim(strings.TrimSuffix(word, "..."), "[]()")
		if !flag {
			words = append(words, strings.TrimSuffix(word, "..."))
		}
		flag = strings.HasPrefix(word, "-")
	}
	return words
}

// offers returns a function that completes one of the named arguments; nil: there is no such
// function.
func offers(g *globals, words []string) cobra.CompletionFunc {
	switch {
	case slices.Contains(words, "NID"), slices.Contains(words, "NIDS"):
		return g.offer(nidsOf)
	case slices.Contains(words, "NET"):
		return g.offer(netsOf)
	}
	return nil
}

// offer returns a function that offers what the daemon knows; if there is no daemon, it offers
// nothing.
func (g *globals) offer(of func(context.Context, *control.Client) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		list := of(ctx, control.NewClient(g.socket))
		list = slices.DeleteFunc(list, func(word string) bool { return slices.Contains(given, word) })
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// netsOf returns the networks of the node, and the networks that can be reached by routes.
func netsOf(ctx context.Context, client *control.Client) (list []string) {
	s, err := node.OpStatus.Call(ctx, client, control.None{})
	if err != nil {
		return nil
	}
	for _, ni := range s.NIs {
		list = append(list, ni.Net)
	}
	routes, err := node.OpRoutes.Call(ctx, client, control.None{})
	if err != nil {
		routes = nil // an error is ignored: the node's own networks are still offered
	}
	for _, r := range routes {
		list = append(list, r.Net)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// nidsOf returns the NIDs of the node and its peers.
func nidsOf(ctx context.Context, client *control.Client) (list []string) {
	s, err := node.OpStatus.Call(ctx, client, control.None{})
	if err != nil {
		return nil
	}
	for _, ni := range s.NIs {
		list = append(list, ni.NID.String())
	}
	page, err := node.OpPeers.Call(ctx, client, node.PeersRequest{Limit: min(completionPeers, node.MaxPeerPage)})
	if err != nil {
		page = node.PeerPage{} // an error is ignored: the node's own NIDs are still offered
	}
	for _, p := range page.Peers {
		list = append(list, p.NID.String())
	}
	for _, k := range page.Known {
		for _, ni := range k.NIs {
			list = append(list, ni.NID.String())
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
