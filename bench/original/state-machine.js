// The original's state machine, after its documentation: one JSON file, read whole, checked and written whole.
//
//   node state-machine.js init ROOT [--level N] [--issue N] [--pid N]
//   node state-machine.js status ROOT
//   node state-machine.js transition ROOT EVENT [--data JSON]
//   node state-machine.js gate ROOT git_commit
//   node state-machine.js edit ROOT FILE
//   node state-machine.js abort ROOT
//   node state-machine.js reset ROOT
//
// It is a yardstick for the benchmark, not a part of the product. Like the original it does not sync the file,
// and only what a transition needs is loaded.
'use strict';

const fs = require('fs');
const path = require('path');

const TRANSITIONS = {
  idle: { start: 'prerequisites', abort: 'aborted' },
  prerequisites: { prerequisites_ok: 'discovering', abort: 'aborted' },
  discovering: { work_selected: 'planning', no_work: 'session_ending', abort: 'aborted' },
  planning: { plan_ready: 'chunking', abort: 'aborted' },
  chunking: { chunks_defined: 'coding', abort: 'aborted' },
  coding: { code_complete: 'updating_docs', abort: 'aborted' },
  updating_docs: { docs_updated: 'testing', abort: 'aborted' },
  testing: { tests_passed: 'committing', tests_failed: 'coding', abort: 'aborted' },
  committing: { committed: 'reporting', commit_with_doc_gate: 'doc_drift_check', abort: 'aborted' },
  doc_drift_check: { drift_clean: 'reporting', drift_blocked: 'coding', abort: 'aborted' },
  reporting: { report_filed: 'chunk_complete', abort: 'aborted' },
  chunk_complete: { next_chunk: 'coding', requirement_done: 'requirement_complete', abort: 'aborted' },
  requirement_complete: { merge_ready: 'merging', abort: 'aborted' },
  merging: { merged: 'awaiting_continue', merge_failed: 'merging', push_failed: 'merging', abort: 'aborted' },
  awaiting_continue: { continue_yes: 'discovering', continue_no: 'session_ending', abort: 'aborted' },
  session_ending: { session_ended: 'completed', abort: 'aborted' },
  budget_exceeded: { budget_continue: 'coding', budget_abort: 'aborted', abort: 'aborted' },
  aborted: { abort_resolved: 'completed', abort_cleanup_failed: 'completed', restart: 'idle' },
  completed: {},
};

const DEFAULTS = {
  max_phase_minutes: 30,
  phase_timeout_enforcement: 'warn',
  max_retries_per_chunk: 5,
  max_coding_cycles: 3,
  max_no_progress: 3,
  max_total_chunks: 20,
  max_session_minutes: 480,
  verification_gates: {},
};

// Events that leave even when a budget is used up.
const EXEMPT = new Set(['abort', 'budget_continue', 'budget_abort', 'abort_resolved', 'abort_cleanup_failed',
  'restart', 'session_ended']);

const statePath = (root) => path.join(root, '.claude', '.warp-drive-state.json');

function loadConfig(root) {
  const file = path.join(root, '.claude', 'settings.local.json');
  try {
    return { ...DEFAULTS, ...JSON.parse(fs.readFileSync(file, 'utf8'))._workflow };
  } catch (error) {
    if (error.code === 'ENOENT') return DEFAULTS;
    throw error;
  }
}

function loadState(root) {
  try {
    return JSON.parse(fs.readFileSync(statePath(root), 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

function saveState(root, state) {
  const file = statePath(root);
  const draft = `${file}.tmp`;
  fs.writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`);
  fs.renameSync(draft, file);
}

function minutesSince(text, now) {
  return (now - Date.parse(text)) / 60000;
}

// Returns the reasons for which the circuit breaker opens.
function checkBudgets(state, config, now) {
  const { budgets, metrics, session } = state;
  const reasons = [];
  if (config.phase_timeout_enforcement !== 'warn'
    && minutesSince(budgets.phase_started_at, now) > config.max_phase_minutes) reasons.push('phase_timeout');
  if (budgets.retry_count > config.max_retries_per_chunk) reasons.push('retry_exceeded');
  if (budgets.coding_cycles > config.max_coding_cycles) reasons.push('coding_cycles_exceeded');
  if ((budgets.no_progress_count || 0) >= config.max_no_progress) reasons.push('no_progress');
  if (metrics.chunks_completed > config.max_total_chunks) reasons.push('total_chunks_exceeded');
  if (minutesSince(session.started_at, now) > config.max_session_minutes) reasons.push('session_timeout');
  return reasons;
}

// Runs the commands that are configured for an event; true if all of them pass.
function verify(root, state, event) {
  const targets = (state.gates[event] || {}).targets || [];
  if (targets.length === 0) return true;
  const { spawnSync } = require('child_process');
  return targets.every((target) => spawnSync('sh', ['-c', target], { cwd: root, stdio: 'inherit' }).status === 0);
}

function applyEvent(state, event, data) {
  const { budgets, checklist, metrics } = state;
  switch (event) {
    case 'work_selected':
      if (data.issue) state.requirement = String(data.issue);
      if (data.branch) state.branch = data.branch;
      break;
    case 'chunks_defined':
      state.chunk = { index: 1, total: (data.acs || []).length, acs: data.acs || [] };
      state.token_usage.current_chunk_started_at = new Date().toISOString();
      budgets.retry_count = 0;
      budgets.coding_cycles = 0;
      break;
    case 'docs_updated': checklist.docs_updated = true; break;
    case 'tests_passed':
      metrics.tests_run += 1;
      checklist.tests_passed = true;
      break;
    case 'tests_failed':
      metrics.tests_run += 1;
      budgets.coding_cycles += 1;
      budgets.retry_count += 1;
      break;
    case 'drift_blocked':
      budgets.coding_cycles += 1;
      budgets.retry_count += 1;
      break;
    case 'merge_failed':
    case 'push_failed': budgets.retry_count += 1; break;
    case 'committed':
    case 'commit_with_doc_gate':
      metrics.commits += 1;
      checklist.committed = true;
      if (data.hash) (state.commit_hashes ||= []).push(data.hash);
      break;
    case 'report_filed':
      metrics.reports_filed += 1;
      metrics.chunks_completed += 1;
      checklist.report_filed = true;
      state.completed_chunks.push({ index: state.chunk.index, at: new Date().toISOString() });
      break;
    case 'next_chunk':
      state.chunk.index += 1;
      state.checklist = { docs_updated: false, tests_passed: false, committed: false, report_filed: false };
      budgets.retry_count = 0;
      budgets.coding_cycles = 0;
      break;
    case 'abort':
    case 'budget_abort': state.aborted = true; break;
    default: break;
  }
}

function transition(root, event, data) {
  const state = loadState(root);
  if (!state) return fail('No active session', 2);
  const config = loadConfig(root);
  let next = (TRANSITIONS[state.phase] || {})[event];
  if (!next) return fail(`Invalid transition: ${event} from ${state.phase}`, 1);
  if (!verify(root, state, event)) return fail(`Verification gate failed for ${event}`, 1);

  const now = Date.now();
  const at = new Date(now).toISOString();
  const from = state.phase;
  applyEvent(state, event, data);
  const reasons = EXEMPT.has(event) ? [] : checkBudgets(state, config, now);
  if (reasons.length > 0) {
    next = 'budget_exceeded';
    Object.assign(state.budgets, { exceeded_reasons: reasons, exceeded_at: at, exceeded_from_phase: from });
  }
  state.phase = next;
  if (next !== from) {
    state.budgets.phase_started_at = at;
    state.edit_counts = {};
  }
  state.history.push({ phase: next, at, from, event });
  state.metrics.session_duration_minutes = Math.round(minutesSince(state.session.started_at, now));
  saveState(root, state);
  console.log(JSON.stringify({ phase: next, from, event }));
  return 0;
}

function gate(root, operation) {
  const state = loadState(root);
  if (!state || operation !== 'git_commit' || state.phase === 'committing') return 0;
  return fail(`git commit is only allowed during committing phase (current: ${state.phase})`, 2);
}

function init(root, options) {
  if (loadState(root)) return fail('Active session exists', 1);
  const now = new Date();
  const config = loadConfig(root);
  const gates = {
    code_complete: { semantic: 'diff_relevance_check' },
    docs_updated: { semantic: 'ac_count_check' },
  };
  for (const [event, targets] of Object.entries(config.verification_gates)) {
    gates[event] = { ...gates[event], targets };
  }
  fs.mkdirSync(path.dirname(statePath(root)), { recursive: true });
  saveState(root, {
    version: 1,
    session: {
      started_at: now.toISOString(),
      started_at_epoch: now.getTime(),
      pid: Number(options.pid || process.ppid),
      level: Number(options.level || 2),
      github_user: '',
    },
    phase: 'prerequisites',
    requirement: options.issue || null,
    branch: null,
    chunk: { index: 0, total: 0, acs: [] },
    checklist: { docs_updated: false, tests_passed: false, committed: false, report_filed: false },
    budgets: { phase_started_at: now.toISOString(), retry_count: 0, coding_cycles: 0 },
    aborted: false,
    edit_counts: {},
    doom_loop_events: [],
    gates,
    completed_chunks: [],
    history: [{ phase: 'prerequisites', at: now.toISOString() }],
    metrics: { commits: 0, reports_filed: 0, tests_run: 0, chunks_completed: 0, session_duration_minutes: 0 },
    token_usage: { session_total: null, chunk_snapshots: [], current_chunk_started_at: null },
    main_branch: 'master',
    session_branch: null,
    merge_target: 'master',
    merge_strategy: 'ff-only',
  });
  return 0;
}

function status(root) {
  const state = loadState(root);
  if (!state) return fail('No active session', 2);
  console.log(JSON.stringify(state, null, 2));
  return 0;
}

// Counts an edit of a file; too many in one phase are a doom loop.
function edit(root, file) {
  const state = loadState(root);
  if (!state) return 0;
  const config = loadConfig(root);
  const count = (state.edit_counts[file] || 0) + 1;
  state.edit_counts[file] = count;
  if (count > (config.max_edits_per_file || 5)) {
    state.doom_loop_events.push({ file, count, phase: state.phase, at: new Date().toISOString() });
    console.log(JSON.stringify({ hookSpecificOutput: {
      hookEventName: 'PostToolUse', additionalContext: `Doom loop: ${file} was edited ${count} times`,
    } }));
  }
  saveState(root, state);
  return 0;
}

function reset(root) {
  fs.rmSync(statePath(root), { force: true });
  return 0;
}

function fail(message, code) {
  console.error(message);
  return code;
}

function main([action, root, ...rest]) {
  const options = {};
  const words = [];
  for (let index = 0; index < rest.length; index += 1) {
    if (rest[index].startsWith('--')) options[rest[index].slice(2)] = rest[index += 1];
    else words.push(rest[index]);
  }
  const data = options.data ? JSON.parse(options.data) : {};
  switch (action) {
    case 'init': return init(root, options);
    case 'status': return status(root);
    case 'transition': return transition(root, words[0], data);
    case 'gate': return gate(root, words[0]);
    case 'edit': return edit(root, words[0]);
    case 'abort': return transition(root, 'abort', data);
    case 'reset': return reset(root);
    default: return fail('usage: state-machine.js ACTION ROOT [ARGUMENTS]', 64);
  }
}

process.exitCode = main(process.argv.slice(2));
