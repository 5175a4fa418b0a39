interface Kept {
  readonly seed: number;
  readonly hours: number;
  /** As a campaign has them. */
  readonly bursts?: number;
  readonly crashes?: number;
  /** On PostgreSQL, whose standby lacks commits. */
  readonly behind?: true;
  readonly story?: string;
}

/**
 * Worlds that the slice runs first, each with the hours for which it is made. Those with a story once broke a promise or
 * a rule; the others are there so that the same worlds are always tried. A plan that changes makes other worlds of them.
 */
export const seeds: readonly Kept[] = [
  {
    seed: 4467356,
    hours: 24,
    story: 'an operator decided that a message was not submitted, and a receipt came later: REJECTED is right',
  },
  {
    seed: 4467351,
    hours: 24,
    story: 'an operator decided twice about a message, and only the first of its attempts got a receipt',
  },
  {
    seed: 4467354,
    hours: 24,
    story: 'a node that had not heard of the pause of a connector asked for messages 50 times a second',
  },
  {
    seed: 2,
    hours: 4,
    story:
      'a world ended before the last webhook was told; later: a lease ran out, and a message with a receipt had an unknown outcome',
  },
  {
    seed: 48,
    hours: 4,
    story: 'one attempt of a part had EXPIRED, and a newer one was never answered: UNKNOWN is right',
  },
  {
    seed: 171,
    hours: 4,
    story: 'a node whose clock was slow changed the status of a marked message without changing its time',
  },
  {
    seed: 4000198,
    hours: 240,
    bursts: 7,
    crashes: 7,
    story: 'a key was taken over from a request that stored its answer at that moment, and a reply went out twice',
  },
  {
    seed: 4000288,
    hours: 240,
    bursts: 7,
    crashes: 7,
    story: 'a lease began by a slow clock after an attempt by a fast one: the rule compared it with the wrong attempt',
  },
  {
    seed: 223300152,
    hours: 4,
    story:
      'a message that a node with a fast clock had claimed before it died was submitted again by one with a slow clock: the rule saw only claims whose message had left',
  },
  {
    seed: 7100042,
    hours: 2,
    story: 'a node that had not heard of another default connector looked 50 times a second for what it may not claim',
  },
  {
    seed: 37535980,
    hours: 2,
    behind: true,
    story: 'a message was brought forward and sent, the standby knew of neither, and it was sent again at its old time',
  },
];
