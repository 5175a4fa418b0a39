/** The package has no types of its own. */
declare module 'postject' {
  export function inject(
    filename: string,
    resourceName: string,
    resourceData: Buffer,
    options?: { readonly sentinelFuse?: string; readonly machoSegmentName?: string },
  ): Promise<void>;
}
