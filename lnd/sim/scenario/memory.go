package scenario

import "fmt"

// MemoryError refuses a run that would need too much memory.
type MemoryError struct {
	Nodes       int
	Need, Limit int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%d nodes need about %s of memory, and there are %s: want fewer, --nodes %d or less",
		e.Nodes, formatBytes(e.Need), formatBytes(e.Limit), e.Most())
}

// Most is how many nodes the limit allows, about.
func (e *MemoryError) Most() int {
	return max(1, int(float64(e.Nodes)*float64(e.Limit)/float64(e.Need)*0.95))
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
// timer, a message under way to it, and what the faults of a file add.
const simBytes = 320

// Memory predicts the bytes that a run of so many nodes needs.
func (f *File) Memory(level Level, nodes int) int64 {
	if level == 0 {
		level = f.Protocol.Levels[0]
	}
	per := int64(simBytes)
	if f.Protocol.BytesPerNode != nil {
		per += f.Protocol.BytesPerNode(level, nodes, f.Options)
	}
	return 16<<20 + per*int64(nodes)
}
