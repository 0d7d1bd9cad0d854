package boltstore

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
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

// metas checks the two meta pages of a file, and that their commit numbers are successive.
func metas(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size, first, err := meta(f, 0)
	if err != nil {
		return err
	}
	_, second, err := meta(f, int64(size))
	if err != nil {
		return err
	}
	if max(first, second)-min(first, second) != 1 {
		return fmt.Errorf("%w: commits %d and %d do not follow each other", errDamaged, first, second)
	}
	return nil
}

// meta reads a meta page, and returns the size of pages and the number of the commit.
func meta(f io.ReaderAt, at int64) (size uint32, commit uint64, err error) {
	page := make([]byte, pageHeader+metaSize)
	if n, err := f.ReadAt(page, at); err != nil && err != io.EOF { //nolint:errorlint // ReadAt says io.EOF itself
		return 0, 0, err
	} else if n < len(page) {
		return 0, 0, fmt.Errorf("%w: no meta page at %d", errDamaged, at)
	}
	m := page[pageHeader:]
	sum := fnv.New64a()
	sum.Write(m[:metaSum])
	size = binary.NativeEndian.Uint32(m[8:])
	switch {
	case binary.NativeEndian.Uint32(m) != metaMagic:
		return 0, 0, fmt.Errorf("%w: no meta page at %d", errDamaged, at)
	case binary.NativeEndian.Uint64(m[metaSum:]) != sum.Sum64():
		return 0, 0, fmt.Errorf("meta page at %d: %w", at, errChecksum)
	case size == 0 || size > maxPage:
		return 0, 0, fmt.Errorf("%w: pages of %d bytes", errDamaged, size)
	}
	return size, binary.NativeEndian.Uint64(m[48:]), nil
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
