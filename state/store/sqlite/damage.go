package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
	"modernc.org/sqlite"

	"github.com/unitd/unitd/state/store"
)

const (
	codeCorrupt = 11 // SQLITE_CORRUPT
	// findings is how many of what is malformed Check looks for.
	findings = 10
)

// malformed says whether SQLite has found the file to be no database of its
// making.
func malformed(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == codeCorrupt || e.Code()&0xff == codeNotDatabase)
}

// damaged is the error of a damaged file; what says what was found.
func damaged(path, what string) error {
	return errors.WithType(errors.Errorf(
		`the store %s is damaged (%s): restore a backup, or see "unitd store check --repair" for what can be recovered`, path, what), store.ErrDamaged)
}

// noticed is err, or that the store is damaged, if it says so. From then on
// nobody reads or writes it any more: what else is damaged isn't known.
func (s *Store) noticed(err error) error {
	if !malformed(err) {
		return err
	}
	err = damaged(s.path, errors.Cause(err).Error())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
	}
	return s.broken
}

// Check looks through the whole file for pages that are malformed, and for much
// else if it is to be thorough; and for keys that aren't what was written lately.
// It takes about as long as reading the file does; others can write meanwhile.
// What values say isn't looked at. Errors: store.ErrDamaged.
func (s *Store) Check(ctx context.Context, thorough bool) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.done.Done()
	pragma := "quick_check"
	if thorough {
		pragma = "integrity_check"
	}
	rows, err := s.read.db.QueryContext(ctx, fmt.Sprintf("PRAGMA %s(%d)", pragma, findings))
	if err != nil {
		return s.noticed(errors.Trace(err))
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return s.noticed(errors.Trace(err))
		}
		if line != "ok" {
			return s.found(firstLine(line))
		}
	}
	if err := rows.Err(); err != nil {
		return s.noticed(errors.Trace(err))
	}
	return s.checkKeys(ctx)
}

// strayed finds a key whose last change isn't what there is of it. A key that a
// bad disk has changed would seem never to have been written otherwise, which is
// an answer that programs go by.
const strayed = `SELECT last.key, kv.key IS NULL FROM (SELECT key, max(rev) AS rev, deleted FROM change GROUP BY key) AS last
LEFT JOIN kv ON kv.key = last.key
WHERE CASE WHEN last.deleted THEN kv.key IS NOT NULL ELSE kv.rev IS NOT last.rev END LIMIT 1`

// checkKeys compares the keys with the list of changes, as far as that goes back.
func (s *Store) checkKeys(ctx context.Context) error {
	var key string
	var lost bool
	switch err := s.read.db.QueryRowContext(ctx, strayed).Scan(&key, &lost); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return s.noticed(errors.Trace(err))
	}
	what := key + " isn't as it was written last"
	if lost {
		what = key + " was written, and isn't there"
	}
	return s.found(what)
}

// found notes that the file is damaged, for whoever comes next.
func (s *Store) found(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = damaged(s.path, what)
	return s.broken
}

// firstLine is what quick_check says first: it heads its findings with the name
// of the database.
func firstLine(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return l == "" || l[0] == '*' })
	if len(lines) == 0 {
		return text
	}
	return lines[0]
}
