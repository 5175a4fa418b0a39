import { BoundedMap } from '../../base/bounded-map.ts';
import type { AdaptiveRate } from '../adaptive-rate.ts';
import type { SubmitResult } from '../connector.ts';
import type { SmppConfig } from './config.ts';
import { canonicalId } from './ids.ts';
import type { Answer } from './requests.ts';
import type { Session } from './session.ts';
import { meaningOf, refusalOf, STATUS, statusWords } from './status.ts';

/** What the answer to a submission means, with what the answers before have shown. */
export interface Judge {
  /** The session is that of the submission; null for an answer that came late. */
  resultOf(answer: Answer, partKey: string, session: Pick<Session, 'close'> | null): SubmitResult;
}

/**
 * So many refusals in a row because of fields that the configuration chooses: it is wrong. It then
 * costs so many messages, and not a campaign.
 */
const SETTINGS_REFUSALS_MAX = 20;
/** A full queue may be that of one recipient. So many in a row are that of the account. */
const QUEUE_FULL_MAX = 5;
const QUEUE_FULL = 0x14;
const DOUBTFUL_REMEMBERED = 10_000;

export function createJudge(config: SmppConfig, rate: Pick<AdaptiveRate, 'slow'>): Judge {
  const doubtful = new BoundedMap<string, number>(DOUBTFUL_REMEMBERED);
  let settingsRefusals = 0;
  let queueFull = 0;

  function accepted(messageId: string, partKey: string): SubmitResult {
    settingsRefusals = 0;
    doubtful.delete(partKey);
    return { kind: 'accepted', gatewayId: canonicalId(messageId, config) };
  }

  function refused(status: number, partKey: string, session: Pick<Session, 'close'> | null): SubmitResult {
    const own = meaningOf(status, config.statusMeanings);
    const meaning = own === 'throttle' && config.quirks.throttleIsFinal ? 'permanent' : own;
    queueFull = status === QUEUE_FULL ? queueFull + 1 : 0;
    if (meaning === 'throttle' || queueFull >= QUEUE_FULL_MAX) {
      queueFull = 0;
      rate.slow();
    }
    if (status === STATUS.invalidBindStatus) session?.close(statusWords(status));
    const before = doubtful.get(partKey) ?? 0;
    if (meaning === 'doubtful') doubtful.set(partKey, before + 1);
    const result = refusalOf(status, meaning, before);
    if (result.kind === 'permanent') doubtful.delete(partKey);
    if (meaning === 'settings') settingsRefusals++;
    if (meaning !== 'settings' || settingsRefusals <= SETTINGS_REFUSALS_MAX) return result;
    const reason = `${SETTINGS_REFUSALS_MAX} submissions in a row were refused, so the configuration is wrong: ${statusWords(status)}`;
    return { kind: 'temporary', reason, connectorDown: true };
  }

  return {
    resultOf(answer, partKey, session) {
      if (answer.kind === 'lost') return { kind: 'unknown-outcome', reason: answer.reason };
      if (answer.kind === 'unsent') return { kind: 'temporary', reason: answer.reason };
      queueFull = answer.status === 0 ? 0 : queueFull;
      return answer.status === 0 ? accepted(answer.messageId, partKey) : refused(answer.status, partKey, session);
    },
  };
}
