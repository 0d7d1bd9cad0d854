package tree

import (
	"bytes"
	"cmp"
	"strings"
)

// grower writes YAML in the forms in which tools for Lustre write it and in which people edit it.
// The bytes of a fuzz target choose the form of each part.
type grower struct {
	choices []byte
	out     strings.Builder
}

// grow returns the YAML text that the given choices produce.
func grow(choices []byte) []byte {
	g := &grower{choices: choices}
	end := "\n"
	if g.one(8) == 0 {
		end = "\r\n"
	}
	for len(g.choices) > 0 {
		g.section()
	}
	return bytes.ReplaceAll([]byte(g.out.String()), []byte("\n"), []byte(end))
}

// one takes the next choice and returns it as a number below n. When no choices are left it returns 0.
func (g *grower) one(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := int(g.choices[0])
	g.choices = g.choices[1:]
	return c % n
}

func (g *grower) among(list ...string) string { return list[g.one(len(list))] }

// line writes a line, perhaps with blanks, a comment or another line around it.
func (g *grower) line(indent int, text string) {
	g.out.WriteString(g.among("", "", "", "", "\n", "# net: x\n", "   # - a\n"))
	g.out.WriteString(strings.Repeat(" ", indent) + text + g.among("", "", "", " # said", " ") + "\n")
}

// section writes a key at the top level, and what is below the key.
func (g *grower) section() {
	key := g.among("net", "route", "peer", "udsp", "global", "numa", "buffers", "x y") + ":"
	switch g.one(4) {
	case 0:
		g.line(0, key+" "+g.scalar())
	case 1:
		g.line(0, key)
		g.mapping(2, 2)
	default:
		g.line(0, key)
		indent := []int{0, 2, 4}[g.one(3)]
		for range 1 + g.one(6) {
			g.item(indent)
		}
	}
}

// item writes an item of a list, a mapping most of the time. The item is never empty, because of
// an error in the parser: it reads a key at the left, below an empty dash, as part of the item,
// although by YAML 1.2, section 8.2.2, the key belongs to the mapping around the list.
func (g *grower) item(indent int) {
	switch g.one(6) {
	case 0:
		g.line(indent, "- "+cmp.Or(g.scalar(), "~"))
	case 1:
		g.line(indent, "-")
		g.mapping(indent+2, 2)
	default:
		g.line(indent, "- "+g.key()+" "+g.scalar())
		g.mapping(indent+2, 2)
	}
}

// mapping writes some keys with values, and below some of them a mapping, a list or a block.
func (g *grower) mapping(indent, depth int) {
	for range 1 + g.one(3) {
		switch kind := g.one(6); {
		case kind == 0 && depth > 0:
			g.line(indent, g.key())
			g.mapping(indent+2, depth-1)
		case kind == 1 && depth > 0:
			g.line(indent, g.key())
			for range 1 + g.one(3) {
				g.item(indent + []int{0, 2}[g.one(2)])
			}
		case kind == 2:
			g.out.WriteString(strings.Repeat(" ", indent) + g.key() + " |\n")
			g.out.WriteString(strings.Repeat(" ", indent+2) + g.among("text", "- a", "net:", "# no comment") + "\n")
		default:
			g.line(indent, g.key()+" "+g.scalar())
		}
	}
}

func (g *grower) key() string {
	return g.among("net type:", "nid:", "gateway:", "interfaces:", "tunables:", "hop:", "status:", "primary nid:")
}

func (g *grower) scalar() string {
	return g.among("tcp", "10.0.0.1@tcp", `"a: b # c"`, "'it''s'", "-1", "0x10", "true", `"- x"`, "eth0, eth1", "[1, 2]", "{a: 1}", "")
}
