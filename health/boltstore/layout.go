package boltstore

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"

	"go.etcd.io/bbolt"
)

// The checks in this file supplement those of bbolt. bbolt has two meta pages: of the latest
// commit, and of the commit before. If one page is damaged, bbolt uses the other, so the latest
// commit could be lost unnoticed.
const (
	pageHeader = 16
	metaSum    = 56 // offset of a meta page's checksum: FNV-1a of the bytes before it
	metaSize   = metaSum + 8
	metaMagic  = 0xED0CDAED
	maxPage    = 64 << 10
)

// slack bounds how long a file may be: at most twice as long as its pages, and slack bytes more. bbolt makes a file longer
// than its pages need, but by much less.
const slack = 4 << 30

// metaPage has what the check needs of a meta page.
type metaPage struct {
	pageSize uint32
	freelist uint64 // page at which the list of free pages begins
	pages    uint64 // of the file
	commit   uint64
}

// metas checks the two meta pages of a file, that their commit numbers are successive, and that the file is not much
// longer than the latest one says.
func metas(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	latest, err := meta(f, 0)
	if err != nil {
		return err
	}
	before, err := meta(f, int64(latest.pageSize))
	if err != nil {
		return err
	}
	if before.commit > latest.commit {
		latest, before = before, latest
	}
	if latest.commit-before.commit != 1 {
		return fmt.Errorf("%w: commits %d and %d do not follow each other", errDamaged, before.commit, latest.commit)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := latest.fits(info.Size()); err != nil {
		return err
	}
	return latest.free(f)
}

// meta reads a meta page.
func meta(f io.ReaderAt, at int64) (metaPage, error) {
	page := make([]byte, pageHeader+metaSize)
	if n, err := f.ReadAt(page, at); err != nil && err != io.EOF { //nolint:errorlint // ReadAt says io.EOF itself
		return metaPage{}, err
	} else if n < len(page) {
		return metaPage{}, fmt.Errorf("%w: no meta page at %d", errDamaged, at)
	}
	m := page[pageHeader:]
	sum := fnv.New64a()
	sum.Write(m[:metaSum])
	size := binary.NativeEndian.Uint32(m[8:])
	switch {
	case binary.NativeEndian.Uint32(m) != metaMagic:
		return metaPage{}, fmt.Errorf("%w: no meta page at %d", errDamaged, at)
	case binary.NativeEndian.Uint64(m[metaSum:]) != sum.Sum64():
		return metaPage{}, fmt.Errorf("meta page at %d: %w", at, errChecksum)
	case size == 0 || size > maxPage:
		return metaPage{}, fmt.Errorf("%w: pages of %d bytes", errDamaged, size)
	}
	return metaPage{size, binary.NativeEndian.Uint64(m[32:]), binary.NativeEndian.Uint64(m[40:]), binary.NativeEndian.Uint64(m[48:])}, nil
}

// fits checks that a file of some size is not much longer than its pages need. The check could not map a file of
// many terabytes, and the error would look like a lack of memory. fits does not look for missing pages: a file
// that lacks pages can be mapped, and the check finds that later.
func (m *metaPage) fits(size int64) error {
	used := int64(min(m.pages, math.MaxInt64/4/maxPage)) * int64(m.pageSize)
	if size-used > used+slack {
		return fmt.Errorf("%w: the file has %d bytes, but only %d pages of %d bytes", errDamaged, size, m.pages, m.pageSize)
	}
	return nil
}

// free checks that the list of free pages is not longer than the file. bbolt allocates memory for as many pages as
// the list claims to have, and a failure of that looks like a lack of memory. Whether the rest of the list is sound
// is for bbolt and freePages to say.
func (m *metaPage) free(f io.ReaderAt) error {
	if m.freelist >= m.pages { // bbolt reports it
		return nil
	}
	head := make([]byte, pageHeader+8)
	if _, err := f.ReadAt(head, int64(m.freelist)*int64(m.pageSize)); err == io.EOF { //nolint:errorlint // ReadAt says io.EOF itself
		return nil // the pages of the list are lacking, which bbolt notices
	} else if err != nil {
		return err
	}
	count := uint64(binary.NativeEndian.Uint16(head[10:]))
	if count == math.MaxUint16 { // the first element of the list has the number
		count = binary.NativeEndian.Uint64(head[pageHeader:])
	}
	if count > m.pages {
		return fmt.Errorf("%w: %d of %d pages are listed as free", errDamaged, count, m.pages)
	}
	return nil
}

// freePages checks that all pages that are listed as free are pages of the file.
func freePages(tx *bbolt.Tx) error {
	listed := tx.DB().Stats().FreePageN
	for i := 0; ; i++ {
		page, err := tx.Page(i)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", errDamaged, err)
		case page == nil && listed == 0:
			return nil
		case page == nil:
			return fmt.Errorf("%w: %d pages that are not there are listed as free", errDamaged, listed)
		case page.Type == "free":
			if i < 2 {
				return fmt.Errorf("%w: meta page %d is listed as free", errDamaged, i)
			}
			listed--
		}
	}
}
