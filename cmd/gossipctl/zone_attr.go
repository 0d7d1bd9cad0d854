package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/zone"
)

func zoneAttrCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "attr",
		Short: "Show and write attributes, which all nodes of the zone see",
		Long: `Shows the attributes of nodes, and writes those of this one. Whoever sees an
attribute of a node sees all that it wrote before, too.`,
		Example: "  gossipctl zone attr set role mds\n  gossipctl zone attr get n7",
		Args:    cli.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(zoneAttrGetCommand(g), zoneAttrSetCommand(g), zoneAttrRemoveCommand(g), zoneAttrWatchCommand(g))
	return c
}

// attributesDoc is the JSON output of attr get.
type attributesDoc struct {
	Node       string         `json:"node"`
	Version    uint64         `json:"version"`
	Attributes []attributeDoc `json:"attributes"`
}

type attributeDoc struct {
	Key    string  `json:"key"`
	Value  *string `json:"value,omitempty"` // the value, if it is text
	Base64 []byte  `json:"base64,omitempty"`
	U      uint64  `json:"u"`
}

func zoneAttrGetCommand(g *globals) *cobra.Command {
	return cli.Question[attributesDoc]{
		Use: "get [NODE [KEY]]", Short: "Show the attributes of a node, or one of them",
		Long: `Shows the attributes of a node, by default this one, in the order in which they
were written; with KEY the value alone, as it is.`,
		Example: "  gossipctl zone attr get n7\n  gossipctl zone attr get n7 role",
		Args:    cobra.MaximumNArgs(2),
		Ask: func(ctx context.Context, args []string) (attributesDoc, error) {
			return g.attributes(ctx, append(args, "", "")[0], args)
		},
		Print: printAttributes,
	}.Command(&g.json)
}

// attributes asks for the attributes of a node, or only for the one that args names.
func (g *globals) attributes(ctx context.Context, name string, args []string) (attributesDoc, error) {
	t, err := zone.OpAttributes.Call(ctx, g.client(), zone.NodeName{Node: name})
	if err != nil {
		return attributesDoc{}, err
	}
	doc := attributesDoc{Node: t.ID.String(), Version: t.Version, Attributes: []attributeDoc{}}
	for _, a := range t.Attributes {
		if len(args) == 2 && a.Key != args[1] {
			continue
		}
		d := attributeDoc{Key: a.Key, U: a.U}
		if text := string(a.Value); utf8.ValidString(text) {
			d.Value = &text
		} else {
			d.Base64 = a.Value
		}
		doc.Attributes = append(doc.Attributes, d)
	}
	if len(args) == 2 {
		if len(doc.Attributes) == 0 {
			return doc, cli.Hint(fmt.Errorf("%s has no attribute %q", t.ID.Name(), args[1]), "'gossipctl zone attr get %s' lists them", t.ID.Name())
		}
		doc.Version = 0 // 0: the version is not printed, because a request for one attribute prints only its value
	}
	return doc, nil
}

func printAttributes(w io.Writer, doc attributesDoc) error {
	if doc.Version == 0 && len(doc.Attributes) == 1 {
		a := &doc.Attributes[0]
		if a.Value != nil {
			_, err := fmt.Fprintln(w, *a.Value)
			return err
		}
		_, err := w.Write(a.Base64)
		return err
	}
	var t cli.Table
	for i := range doc.Attributes {
		t.Row(quoted(doc.Attributes[i].Key), doc.Attributes[i].text())
	}
	return t.Print(w)
}

func (a *attributeDoc) text() string {
	if a.Value == nil {
		return strconv.Quote(string(a.Base64))
	}
	return quoted(*a.Value)
}

// quoted returns a text for a table: in quotes if it is empty or has characters that cannot be
// printed, and otherwise unchanged.
func quoted(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(s)
	}
	return s
}

func zoneAttrSetCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Write an attribute of this node",
		Long: `Writes an attribute of this node, which the others see soon. It is gone when lnetd
ends.`,
		Example: "  gossipctl zone attr set role mds",
		Args:    cli.Args("a key", "a value"),
		RunE: func(c *cobra.Command, args []string) error {
			return zone.OpWrite.Call(c.Context(), g.client(), zone.WriteRequest{Key: args[0], Value: []byte(args[1])})
		},
	}
}

func zoneAttrRemoveCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "rm KEY",
		Short:   "Delete an attribute of this node",
		Long:    "Deletes an attribute of this node. One that is not there is no error.",
		Example: "  gossipctl zone attr rm role",
		Args:    cli.Args("a key"),
		RunE: func(c *cobra.Command, args []string) error {
			return zone.OpWrite.Call(c.Context(), g.client(), zone.WriteRequest{Key: args[0], Delete: true})
		},
	}
}
