package tree

import (
	"context"
	"fmt"
)

// applySettings applies the settings of an item. Del changes only two of them: a router becomes
// an ordinary node, and the NUMA range becomes 0.
func applySettings(ctx context.Context, to Target, v Verb, i Item) []*Error {
	for _, s := range i.Settings() {
		switch {
		case s.Name == ShownOnly: // skipped, as the setting follows from others
			continue
		case v == Del && s.Name != "routing" && s.Name != "numa_range":
			continue
		case v == Del:
			s.Value = 0
		}
		if err := to.Set(ctx, s); err != nil {
			return explain(i, err, fmt.Sprintf("cannot set %s to %d", s.Name, s.Value))
		}
	}
	return nil
}

// Settings lists the settings of an item by their names.
func (i Item) Settings() (list []Setting) {
	set := func(name string, n *int) {
		if n != nil {
			list = append(list, Setting{name, int64(*n)})
		}
	}
	switch {
	case i.Setting != nil:
		return []Setting{*i.Setting}
	case i.Buffers != nil:
		set("tiny_buffers", i.Buffers.Tiny)
		set("small_buffers", i.Buffers.Small)
		set("large_buffers", i.Buffers.Large)
	case i.Routing != nil:
		if i.Routing.Enable != nil {
			set("routing", new(map[bool]int{true: 1}[i.Routing.IsRouter()]))
		}
	}
	return list
}
