package scenario

import (
	"cmp"
	"fmt"
	"sort"
)

// MemoryError is the error for a run that would need too much memory.
type MemoryError struct {
	Nodes       int   // nodes that the run asked for
	Most        int   // most nodes that the limit allows; 0 if none
	Need, Limit int64 // memory needed and allowed, in bytes
}

func (e *MemoryError) Error() string {
	text := fmt.Sprintf("%d nodes need about %s of memory, and there are %s: want ", e.Nodes, formatBytes(e.Need), formatBytes(e.Limit))
	if e.Most == 0 {
		return text + "a machine with more"
	}
	return text + fmt.Sprintf("fewer, --nodes %d at most", e.Most)
}

// enough returns an error if a run needs more memory than its limit.
func (f *File) enough(o *Options) error {
	need := func(nodes int) int64 {
		if o.Verify {
			return 2 * f.Memory(o.Level, nodes)
		}
		return f.Memory(o.Level, nodes)
	}
	if o.MemoryLimit <= 0 || need(o.Nodes) <= o.MemoryLimit {
		return nil
	}
	most := sort.Search(o.Nodes, func(n int) bool { return need(n+1) > o.MemoryLimit })
	return &MemoryError{o.Nodes, most, need(o.Nodes), o.MemoryLimit}
}

func formatBytes(n int64) string {
	for _, u := range []struct {
		name  string
		bytes float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if float64(n) >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// simBytes is what the simulator and this package need per node: the node, its
// timer, and a small message under way to it.
const simBytes = 160

// Memory predicts the bytes that a run with the given number of nodes needs.
func (f *File) Memory(level Level, nodes int) int64 {
	level = cmp.Or(level, f.Protocol.Levels[0])
	per := int64(simBytes)
	if f.Protocol.BytesPerNode != nil {
		per += f.Protocol.BytesPerNode(level, nodes, f.Options)
	}
	return 16<<20 + per*int64(nodes)
}
