package wire

import (
	"strconv"
	"strings"
)

// String returns the names of the flags that are set.
func (f Flags) String() string {
	return flagText(uint32(f), "last", "module", "oob", "list", "subset", "signed")
}

// String returns the names of the flags that are set.
func (f ReplyFlags) String() string { return flagText(uint32(f), "last", "collective", "signed") }

// flagText returns the names of the set flags; flags without a name are in hexadecimal.
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
