package wire

import (
	"strconv"
	"strings"
)

// String returns the names of the flags that are set.
func (f DatagramFlags) String() string {
	return flagText(uint32(f), "repair", "tree", "batch", "signed", "packed", "control")
}

// String returns the names of the flags that are set.
func (f OrderFlags) String() string {
	return flagText(uint32(f), "leaving", "asking", "replica", "tree", "signed", "vote", "dead")
}

// String returns the names of the flags that are set.
func (f EntryFlags) String() string {
	return flagText(uint32(f), "answer", "needless", "at once")
}

// String returns the kind's name.
func (k EntryKind) String() string {
	return nameOf(int(k)-1, "ack", "pending", "need", "poll", "query", "stable", "expelled")
}

// String returns the kind's name.
func (k OrderKind) String() string {
	return nameOf(int(k)-1, "join", "report", "known", "list", "state", "collect", "expelled", "refused", "canvass")
}

// nameOf returns a name by its index, or the number if there is none.
func nameOf(i int, names ...string) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return "kind " + strconv.Itoa(i+1)
}

// flagText lists flags by name; bits without a name are in hexadecimal.
func flagText(f uint32, names ...string) string {
	var set []string
	for i, name := range names {
		if f>>i&1 != 0 {
			set = append(set, name)
		}
	}
	if unknown := f >> len(names) << len(names); unknown != 0 {
		set = append(set, "0x"+strconv.FormatUint(uint64(unknown), 16))
	}
	if len(set) == 0 {
		return "none"
	}
	return strings.Join(set, ",")
}
