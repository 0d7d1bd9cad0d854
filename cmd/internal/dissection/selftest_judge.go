package dissection

import selftestwire "ulnet/lnet/selftest/wire"

// judge adds remarks on fields that a kernel node cannot handle (selftest §14).
func (q *selftestRequest) judge() {
	if unknown := q.Features &^ selftestwire.KnownFeatures; unknown != 0 {
		q.remarks = remark(q.remarks, "unknown features %#x", uint32(unknown))
	}
	switch b := q.Body.(type) {
	case *selftestwire.BRW:
		q.judgeLength(b.Length)
		if q.refused(b) {
			q.remarks = remark(q.remarks, "a kernel server may crash when it refuses this")
		}
	case *selftestwire.Test:
		if b.Service == selftestwire.BRWService {
			q.judgeLength(b.BRW.Length)
			q.judgeLength(b.BRW.Offset)
			q.judgeOffset(b)
		}
		if b.Destinations > selftestwire.MaxDestinations {
			q.remarks = remark(q.remarks, "the end of a list of %d destinations is not sent", b.Destinations)
		}
	}
}

func (q *selftestRequest) judgeLength(n uint32) {
	if n%8 != 0 {
		q.remarks = remark(q.remarks, "%d bytes, which is no multiple of 8, crash a kernel server", n)
	}
}

// refused reports whether a server refuses a BRW request (selftest §7). A kernel server of 2.16 and
// later may crash then, because it has already allocated memory for the bulk data (selftest §14).
func (q *selftestRequest) refused(b *selftestwire.BRW) bool {
	const most, page = 1 << 20, 4096
	return b.Op != selftestwire.Read && b.Op != selftestwire.Write || b.Check < selftestwire.CheckNone || b.Check > selftestwire.CheckDiscard ||
		q.Features&^selftestwire.KnownFeatures != 0 || b.Length == 0 || b.Length > most ||
		q.Features&selftestwire.BulkLength == 0 && b.Length%page != 0
}

// judgeOffset adds a remark if the data of a client begin so late in a page that they need one page more than
// the same length at offset 0: a kernel client does not allocate that page.
func (q *selftestRequest) judgeOffset(b *selftestwire.Test) {
	const page = 4096
	length, offset := uint64(b.BRW.Length), uint64(b.BRW.Offset%page)
	if b.Client && q.Features&selftestwire.BulkLength != 0 && offset+length > (length+page-1)/page*page {
		q.remarks = remark(q.remarks, "%d bytes at offset %d of a page crash a kernel client", length, offset)
	}
}
