-- A journal of schema 1, as its first release wrote it. Never regenerated: it stands for files that exist.

PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE event (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        stream TEXT NOT NULL,
        seq INTEGER NOT NULL,
        record INTEGER NOT NULL,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        hash BLOB NOT NULL,
        body BLOB NOT NULL,
        UNIQUE (stream, seq)
    ) STRICT;
CREATE TABLE stream (
        name TEXT NOT NULL UNIQUE,
        events INTEGER NOT NULL,
        head BLOB NOT NULL,
        position INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        mark TEXT,
        topic TEXT,
        seal BLOB NOT NULL,
        snapshot BLOB NOT NULL
    ) STRICT;
CREATE UNIQUE INDEX stream_mark ON stream (mark) WHERE mark IS NOT NULL;
CREATE INDEX stream_topic ON stream (topic) WHERE topic IS NOT NULL;
CREATE TABLE lease (
        generation INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        expires_at INTEGER NOT NULL
    ) STRICT;
INSERT INTO event (position, stream, seq, record, at, kind, hash, body)
    VALUES (1, 'run:k3f9', 0, 1, 1700000000000, 'run_started', x'a57735f020f07942a4965891bed17cfb5d6811720025b3eb3497acf2d4ecf7d5', x'7b226973737565223a34327d');
INSERT INTO event (position, stream, seq, record, at, kind, hash, body)
    VALUES (2, 'run:k3f9', 1, 1, 1700000000001, 'phase_entered', x'ccac40b8c5b43c90ba54754b5e6611b9f13fc8d05cebbd818e9858cc3140efbc', x'7b227068617365223a22636f64696e67227d');
INSERT INTO event (position, stream, seq, record, at, kind, hash, body)
    VALUES (3, 'project', 0, 0, 1700000000002, 'issue_approved', x'da41630afe8885016be8804b837d13de1f2b7964ff8e7ddf561cacf4a382e539', x'7b226973737565223a34327d');
INSERT INTO event (position, stream, seq, record, at, kind, hash, body)
    VALUES (4, 'run:k3f9', 2, 2, 1700000000003, 'code_finished', x'a4e6db243b836fb6c3f572e1a4835e6482db63398df665c45ff5200f8b757150', x'7b7d');
INSERT INTO stream (name, events, head, position, updated_at, mark, topic, seal, snapshot)
    VALUES ('run:k3f9', 3, x'a4e6db243b836fb6c3f572e1a4835e6482db63398df665c45ff5200f8b757150', 4, 1700000000003, 'workspace', 'issue:42', x'ffddb2450988e345b2b232c51ce9329597211574664b061af5e335a75fad956f', x'7b227068617365223a22636f64696e67227d');
INSERT INTO stream (name, events, head, position, updated_at, mark, topic, seal, snapshot)
    VALUES ('project', 1, x'da41630afe8885016be8804b837d13de1f2b7964ff8e7ddf561cacf4a382e539', 3, 1700000000002, NULL, NULL, x'271f266cd6d97f0c7503199fff172ee0cdd1cfff42fe1c7a6a2106c7f6657028', x'7b7d');
INSERT INTO lease (generation, name, owner, expires_at)
    VALUES (2, 'factory', 'one', 1700000060000);
UPDATE sqlite_sequence SET seq = 4 WHERE name = 'event';
UPDATE sqlite_sequence SET seq = 2 WHERE name = 'lease';
PRAGMA application_id = 1466004036;
PRAGMA user_version = 1;
COMMIT;
